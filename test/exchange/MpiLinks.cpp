//===- MpiLinks.cpp - Threads of one program that wait for several links --===//
//
// The engine for MPI beside an MPI of this file, of which a test decides when a
// buffer has left, which message has come, and which call fails. A pause
// between two looks ends by itself unless the test said that it is quiet: then
// it ends only if a thread ends it, so that a wait for its end lasts forever on
// a machine of any speed.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/engines/mpi/MpiEngine.cpp"

#include <atomic>
#include <cerrno>
#include <future>
#include <map>
#include <pthread.h>
#include <unistd.h>

//===----------------------------------------------------------------------===//
// Pauses
//===----------------------------------------------------------------------===//

static std::atomic<int> sleeping;

extern "C" int pthread_cond_clockwait(pthread_cond_t *changed,
                                      pthread_mutex_t *mutex, clockid_t,
                                      const timespec *until) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto left = (until->tv_sec - now.tv_sec) * 1000000000l +
                    (until->tv_nsec - now.tv_nsec);
  // The engine's lock is held. Waits of a second or more are for a frame.
  const bool isQuiet =
      Clock::now() - world().quietSince > std::chrono::minutes(1);
  if (left < 1000000000 && !isQuiet) {
    pthread_mutex_unlock(mutex);
    usleep(1000);
    pthread_mutex_lock(mutex);
    return ETIMEDOUT;
  }
  if (left < 1000000000)
    world().nextLook += std::chrono::hours(1); // nobody may wait for its end
  ++sleeping;
  pthread_cond_wait(changed, mutex);
  --sleeping;
  return 0;
}

//===----------------------------------------------------------------------===//
// MPI, of three ranks. All is under the engine's lock.
//===----------------------------------------------------------------------===//

struct ompi_predefined_communicator_t {
} ompi_mpi_comm_world;
struct ompi_predefined_datatype_t {
} ompi_mpi_byte;
struct ompi_predefined_request_t {
} ompi_request_null;
struct ompi_predefined_errhandler_t {
} ompi_mpi_errors_return;
struct ompi_request_t {
  bool isDone = false;
  int error = MPI_SUCCESS;
};

/// Of the frame that left last, and how many frames of each rank are there.
static ompi_request_t *leaving;
static std::map<int, int> come;
/// Of this rank one comes as soon as somebody looks for frames of all.
static int comesAtALook = -1;

int MPI_Test(MPI_Request *request, int *isDone, MPI_Status *) {
  *isDone = *request == MPI_REQUEST_NULL || (*request)->isDone;
  if (!*isDone || *request == MPI_REQUEST_NULL)
    return MPI_SUCCESS;
  const int error = (*request)->error;
  delete std::exchange(*request, MPI_REQUEST_NULL);
  return error;
}
int MPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm,
              MPI_Request *request) {
  *request = leaving = new ompi_request_t;
  return MPI_SUCCESS;
}
int MPI_Iprobe(int rank, int, MPI_Comm, int *isThere, MPI_Status *status) {
  if (rank == MPI_ANY_SOURCE && comesAtALook >= 0)
    ++come[std::exchange(comesAtALook, -1)];
  *isThere = 0;
  for (auto [source, frames] : come)
    if (frames > 0 && (rank == MPI_ANY_SOURCE || rank == source))
      *isThere = 1, status->MPI_SOURCE = source;
  return MPI_SUCCESS;
}
int MPI_Improbe(int rank, int, MPI_Comm, int *isThere, MPI_Message *,
                MPI_Status *) {
  *isThere = come[rank] > 0;
  come[rank] -= *isThere;
  return MPI_SUCCESS;
}
int MPI_Get_count(const MPI_Status *, MPI_Datatype, int *bytes) {
  *bytes = 3;
  return MPI_SUCCESS;
}
int MPI_Imrecv(void *bytes, int size, MPI_Datatype, MPI_Message *,
               MPI_Request *request) {
  memset(bytes, 'x', size_t(size));
  *request = new ompi_request_t{true};
  return MPI_SUCCESS;
}
/// A name, from the rank before: its own first, then those that it was given.
int MPI_Irecv(void *name, int bytes, MPI_Datatype, int, int, MPI_Comm,
              MPI_Request *request) {
  static int next = 3;
  snprintf(static_cast<char *>(name), size_t(bytes), "%d", --next);
  *request = new ompi_request_t{true};
  return MPI_SUCCESS;
}
int MPI_Testall(int count, MPI_Request requests[], int *isDone, MPI_Status *) {
  *isDone = 1;
  for (int i = 0; i < count; ++i)
    delete std::exchange(requests[i], MPI_REQUEST_NULL);
  return MPI_SUCCESS;
}
int MPI_Init_thread(int *, char ***, int, int *provided) {
  *provided = MPI_THREAD_SERIALIZED;
  return MPI_SUCCESS;
}
int MPI_Comm_rank(MPI_Comm, int *rank) { return *rank = 0; }
int MPI_Comm_size(MPI_Comm, int *ranks) { return *ranks = 3, MPI_SUCCESS; }
int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler) { return MPI_SUCCESS; }
int MPI_Finalize() { return MPI_SUCCESS; }
int MPI_Get_library_version(char *, int *) { return MPI_SUCCESS; }

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

static const hone_engine &engine = *hone_exchange_engine();
static hone_link *first, *second;
static char frame[16];
constexpr int kForever = 1000000;

static void expect(int64_t got, int64_t want, const char *what) {
  if (got == want)
    return;
  fprintf(stderr, "mpi-links: %s: expects %d but got %d\n", what, int(want),
          int(got));
  exit(1);
}

/// The result of a link's next() in its own thread.
static std::future<int64_t> waitFor(hone_link *link) {
  return std::async(std::launch::async, [link] {
    return engine.next(link, frame, sizeof(frame), kForever);
  });
}

/// So long without a frame that pauses are the longest.
static void beQuiet() {
  std::lock_guard<std::mutex> lock(world().mutex);
  world().quietSince -= std::chrono::hours(1);
}

static void awaitSleepers(int count) {
  while (sleeping != count)
    usleep(1000);
  std::lock_guard<std::mutex> lock(world().mutex); // they wait by now
}

/// Starts a thread that waits for the first link and looks for all.
static void lookOnce() {
  auto looks = waitFor(first);
  awaitSleepers(1);
  engine.wake(first);
  expect(looks.get(), 0, "next() after wake()");
}

/// The frame of `second` that is on its way leaves, or fails.
static void endSend(int error) {
  std::lock_guard<std::mutex> lock(world().mutex);
  leaving->error = error;
  leaving->isDone = true;
}

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  alarm(60); // for a wait that never ends
  setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
  char why[256];
  first = engine.open("", "0", "1", kForever, why, sizeof(why));
  second = engine.open("", "0", "2", kForever, why, sizeof(why));

  beQuiet();
  expect(engine.send(second, frame, 3), 0, "send()");
  expect(engine.send(second, frame, 3), 1, "send() before it has left");
  endSend(MPI_SUCCESS);
  beQuiet();
  lookOnce();
  beQuiet();
  expect(engine.next(second, frame, sizeof(frame), kForever), 0,
         "next() when send() can take a frame again");
  puts("another thread saw that a frame has left: send() can take one");

  beQuiet();
  auto looks = waitFor(first);
  awaitSleepers(1);
  {
    std::lock_guard<std::mutex> lock(world().mutex);
    comesAtALook = 2;
  }
  expect(engine.send(second, frame, 3), 0, "send() again");
  expect(waitFor(second).get(), 3, "next() of an answer");
  engine.wake(first);
  expect(looks.get(), 0, "next() of a link without frames");
  puts("another thread sleeps: an answer is seen at once");

  endSend(MPI_ERR_OTHER);
  beQuiet();
  lookOnce();
  expect(engine.send(second, frame, 3), -1, "send() after a failure");
  expect(engine.next(second, frame, sizeof(frame), 0), -1,
         "next() after a failure");
  puts("another thread saw that a frame failed: the link is lost");
  engine.close(second);
  engine.close(first);
}
