//===- MpiEngine.cpp - Carries frames by MPI ------------------------------===//
//
// Between programs that one mpirun started; each is known by its name, which
// all tell each other once.
//
// MPI's own waits spin, so nothing here waits in MPI. A thread tests the
// requests under way, and between two tests it sleeps for an eighth of the time
// in which nothing has come. It is late by an eighth at most, and a program
// that waits long takes next to nothing of a core. One thread of a program does
// so for all that wait, since a program may have 63 links.
//
//===----------------------------------------------------------------------===//

#include "hone/engine.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mpi.h>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#ifndef OMPI_MAJOR_VERSION
#error "built with Open MPI alone: other libraries have other binary interfaces"
#endif

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kFrameTag = 1, kNameTag = 2;
constexpr size_t kNameBytes = 64;
/// A thread that waits sleeps between these.
constexpr microseconds kLeastSleep{10}, kMostSleep{5000};
/// For frames of a link that is closed to leave, at most.
constexpr milliseconds kMostLeave{5000};

/// A buffer and its MPI request. It is as long as the longest frame yet: most
/// links have short ones.
struct Buffer {
  std::unique_ptr<char[]> bytes;
  int capacity = 0, size = 0;
  MPI_Request request = MPI_REQUEST_NULL;

  /// Bytes for a frame, of one that MPI does nothing with.
  char *forFrame(int needed) {
    if (needed > capacity) {
      bytes = nullptr; // before there is another one
      bytes.reset(new char[size_t(needed)]);
      capacity = needed;
    }
    return bytes.get();
  }
};

struct World {
  /// MPI is called under it: MPI_THREAD_SERIALIZED.
  std::mutex mutex;
  bool isBegun = false, isNamed = false;
  int rank = 0, ranks = 0;
  std::vector<char> names; ///< kNameBytes each, by rank
  int passed = 0;          ///< names of others that are here
  MPI_Request passing[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  /// Buffers of closed links: MPI still has them.
  std::vector<Buffer> abandoned;
  std::vector<hone_link *> links;
  /// The link whose thread looks for frames to any link; null: none.
  hone_link *looker = nullptr;
  Clock::time_point nextLook; ///< when it does, if nothing wakes it
  /// Since when nothing has come or gone.
  Clock::time_point quietSince = Clock::now();
};

World &world() {
  static World *one = new World; // MPI ends after static objects
  return *one;
}

/// Whether a launcher began this process: MPI would else start one.
bool isLaunched() {
  for (const char *name :
       {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_ID"})
    if (getenv(name))
      return true;
  return false;
}

/// Programs end together. One that failed does not wait for the others: its
/// exit code ends them, by mpirun.
void endMpi(int status, void *) {
  if (status == EXIT_SUCCESS)
    MPI_Finalize();
}

/// Under the lock. False: `why` says the reason.
bool begin(World &own, std::string &why) {
  if (own.isBegun)
    return true;
  if (!isLaunched()) {
    why = "mpirun did not start this program";
    return false;
  }
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) !=
          MPI_SUCCESS ||
      provided < MPI_THREAD_SERIALIZED) {
    why = "MPI has no support of threads";
    return false;
  }
  on_exit(endMpi, nullptr);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &own.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &own.ranks);
  return own.isBegun = true;
}

/// Tells the others the name `self`; under the lock, again until it is true.
/// Names go round from rank to rank: MPI's own ways connect each to most
/// others, and keep memory for each connection.
bool tellName(World &own, const char *self, std::string &why) {
  if (own.isNamed)
    return true;
  auto nameOf = [&](int rank) {
    return own.names.data() + size_t(rank % own.ranks) * kNameBytes;
  };
  if (own.names.empty()) {
    own.names.resize(size_t(own.ranks) * kNameBytes);
    snprintf(nameOf(own.rank), kNameBytes, "%s", self);
  }
  for (int isDone = 1; own.passed + 1 < own.ranks; ++own.passed) {
    const int next = own.rank + own.ranks - own.passed; // its name goes on
    if (own.passing[0] == MPI_REQUEST_NULL &&
        own.passing[1] == MPI_REQUEST_NULL) {
      MPI_Irecv(nameOf(next - 1), kNameBytes, MPI_BYTE,
                (own.rank + own.ranks - 1) % own.ranks, kNameTag,
                MPI_COMM_WORLD, &own.passing[0]);
      MPI_Isend(nameOf(next), kNameBytes, MPI_BYTE, (own.rank + 1) % own.ranks,
                kNameTag, MPI_COMM_WORLD, &own.passing[1]);
    }
    MPI_Testall(2, own.passing, &isDone, MPI_STATUSES_IGNORE);
    if (!isDone) {
      why = "not all programs that mpirun started exchange messages yet";
      return false;
    }
  }
  return own.isNamed = true;
}

/// The rank of the program `peer`; -1: there is not one, and `why`.
int rankOf(const World &own, const char *peer, std::string &why) {
  int found = -1, count = 0;
  std::string all;
  for (int i = 0; i < own.ranks; ++i) {
    const char *name = own.names.data() + size_t(i) * kNameBytes;
    all += (i ? ", '" : "'") + std::string(name) + "'";
    if (strcmp(name, peer) == 0)
      found = i, ++count;
  }
  if (count == 1)
    return found;
  why = "mpirun started " + std::to_string(count) +
        " programs of this name, of " + all;
  return -1;
}

} // namespace

/// All under World's mutex.
struct hone_link {
  int rank;
  Buffer out, in;
  std::condition_variable changed;
  bool isLost = false;  ///< MPI failed with a buffer, on any thread
  bool isFull = false;  ///< send() was told to wait
  bool isWoken = false; ///< wake() was called
  bool isReady = false; ///< MPI may be done with a buffer, or a frame is there
  bool isWaiting = false; ///< its thread, for others to look
};

namespace {

hone_link *openLink(const char *, const char *self, const char *peer, int waits,
                    char *why, uint64_t capacity) {
  World &own = world();
  const Clock::time_point end = Clock::now() + milliseconds(waits);
  std::string reason;
  int rank = -1;
  bool isFinal = false; // which programs were started does not change
  for (;;) {
    {
      std::lock_guard<std::mutex> lock(own.mutex);
      isFinal = !begin(own, reason);
      if (!isFinal && tellName(own, self, reason)) {
        rank = rankOf(own, peer, reason);
        isFinal = rank < 0;
      }
    }
    if (rank >= 0 || isFinal || Clock::now() >= end)
      break;
    std::this_thread::sleep_for(kMostSleep);
  }
  if (rank < 0) {
    snprintf(why, capacity, "%s", reason.c_str());
    errno = isFinal ? EINVAL : 0;
    return nullptr;
  }
  auto *link = new hone_link;
  link->rank = rank;
  std::lock_guard<std::mutex> lock(own.mutex);
  own.links.push_back(link);
  return link;
}

/// Under World's lock: whether MPI is done with it. Sets `isLost`.
bool isDone(Buffer &buffer, bool &isLost) {
  int done = 0;
  if (MPI_Test(&buffer.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    isLost = true;
  return done;
}

/// Under World's lock: something came or went, so an answer may be near.
/// Threads that sleep for long look now.
void noteMove(World &own) {
  own.quietSince = Clock::now();
  if (own.looker && own.nextLook > own.quietSince + kLeastSleep)
    own.looker->changed.notify_one();
}

int sendFrame(hone_link *link, const void *bytes, uint64_t size) {
  if (size > HONE_FRAME_BYTES)
    return -1;
  World &own = world();
  std::lock_guard<std::mutex> lock(own.mutex);
  link->isFull = !isDone(link->out, link->isLost);
  if (link->isLost)
    return -1;
  if (link->isFull)
    return 1;
  char *const frame = link->out.forFrame(int(size));
  memcpy(frame, bytes, size);
  if (MPI_Isend(frame, int(size), MPI_BYTE, link->rank, kFrameTag,
                MPI_COMM_WORLD, &link->out.request) != MPI_SUCCESS)
    return -1;
  noteMove(own);
  return 0;
}

/// Under World's lock: begins to receive a frame if one has come.
bool beginReceive(hone_link *link) {
  int hasCome = 0;
  MPI_Message message;
  MPI_Status status;
  if (MPI_Improbe(link->rank, kFrameTag, MPI_COMM_WORLD, &hasCome, &message,
                  &status) != MPI_SUCCESS)
    return false;
  if (!hasCome)
    return true;
  MPI_Get_count(&status, MPI_BYTE, &link->in.size);
  return link->in.size > 0 && link->in.size <= HONE_FRAME_BYTES &&
         MPI_Imrecv(link->in.forFrame(link->in.size), link->in.size, MPI_BYTE,
                    &message, &link->in.request) == MPI_SUCCESS;
}

/// Under World's lock: as next(), without waiting; `hasLeft`: out may be filled
/// again.
int64_t tryNext(hone_link *link, void *bytes, uint64_t capacity,
                bool &hasLeft) {
  hasLeft =
      isDone(link->out, link->isLost) && std::exchange(link->isFull, false);
  if (link->isLost || (link->in.size == 0 && !beginReceive(link)))
    return -1;
  if (link->in.size == 0)
    return 0;
  if (!isDone(link->in, link->isLost) || link->isLost)
    return link->isLost ? -1 : 0;
  const int64_t size = std::exchange(link->in.size, 0);
  if (uint64_t(size) > capacity)
    return -1;
  memcpy(bytes, link->in.bytes.get(), size_t(size));
  return size;
}

void makeReady(World &own, hone_link *link) {
  own.quietSince = Clock::now();
  link->isReady = true;
  link->changed.notify_one();
}

/// Under World's lock: whether a frame of `rank`, or of any, is there; and
/// its sender.
bool isThere(int rank, int &source) {
  int hasCome = 0;
  MPI_Status status;
  // The link's own thread sees errors.
  if (MPI_Iprobe(rank, kFrameTag, MPI_COMM_WORLD, &hasCome, &status) !=
      MPI_SUCCESS)
    return true;
  source = hasCome ? status.MPI_SOURCE : rank;
  return hasCome;
}

/// Under World's lock: wakes the threads whose frames are there.
void lookForAll(World &own) {
  for (hone_link *link : own.links)
    for (Buffer *each : {&link->out, &link->in})
      if (each->request != MPI_REQUEST_NULL &&
          (isDone(*each, link->isLost) || link->isLost))
        makeReady(own, link);
  int source = MPI_ANY_SOURCE;
  if (!isThere(MPI_ANY_SOURCE, source))
    return;
  // One call for all, unless the first frame is of a link that is not there yet
  // or that knows of it, since others may be after it. Open MPI looks first at
  // the rank after the one that it named last, so none waits for ever.
  auto first =
      std::find_if(own.links.begin(), own.links.end(),
                   [&](hone_link *link) { return link->rank == source; });
  if (first != own.links.end() && !(*first)->isReady)
    return makeReady(own, *first);
  for (hone_link *link : own.links)
    if (!link->isReady && isThere(link->rank, source))
      makeReady(own, link);
}

/// Looks for all links once, after a pause, or waits for another thread that
/// does.
void waitFor(World &own, std::unique_lock<std::mutex> &lock, hone_link *link,
             Clock::time_point end) {
  if (own.looker) {
    link->isWaiting = true;
    link->changed.wait_until(lock, end, [&] {
      return link->isWoken || link->isReady || !own.looker;
    });
    link->isWaiting = false;
    return;
  }
  own.looker = link;
  const Clock::time_point since = own.quietSince, now = Clock::now();
  const auto quiet = std::chrono::duration_cast<microseconds>(now - since);
  own.nextLook =
      std::min(end, now + std::clamp(quiet / 8, kLeastSleep, kMostSleep));
  link->changed.wait_until(lock, own.nextLook, [&] {
    return link->isWoken || own.quietSince != since;
  });
  lookForAll(own);
  own.looker = nullptr;
}

int64_t nextFrame(hone_link *link, void *bytes, uint64_t capacity, int waits) {
  World &own = world();
  const Clock::time_point end = Clock::now() + milliseconds(waits);
  std::unique_lock<std::mutex> lock(own.mutex);
  int64_t size = 0;
  for (;;) {
    bool hasLeft = false;
    link->isReady = false;
    size = tryNext(link, bytes, capacity, hasLeft);
    if (size != 0 || hasLeft)
      noteMove(own);
    if (size != 0 || hasLeft || Clock::now() >= end ||
        std::exchange(link->isWoken, false))
      break;
    waitFor(own, lock, link, end);
  }
  // This thread looks no more, so another one does.
  if (!own.looker)
    if (auto next =
            std::find_if(own.links.begin(), own.links.end(),
                         [](hone_link *each) { return each->isWaiting; });
        next != own.links.end())
      (*next)->changed.notify_one();
  return size;
}

void wakeLink(hone_link *link) {
  std::lock_guard<std::mutex> lock(world().mutex);
  link->isWoken = true;
  link->changed.notify_one();
}

void closeLink(hone_link *link) {
  World &own = world();
  const Clock::time_point end = Clock::now() + kMostLeave;
  bool isLost = false;
  {
    std::lock_guard<std::mutex> lock(own.mutex);
    own.links.erase(std::find(own.links.begin(), own.links.end(), link));
  }
  for (;;) {
    {
      std::lock_guard<std::mutex> lock(own.mutex);
      const bool isOver = isDone(link->out, isLost) && isDone(link->in, isLost);
      if (isOver || isLost || Clock::now() >= end) {
        for (Buffer *each : {&link->out, &link->in})
          if (each->request != MPI_REQUEST_NULL)
            own.abandoned.push_back(std::move(*each));
        break;
      }
    }
    std::this_thread::sleep_for(kMostSleep);
  }
  delete link;
}

/// Why the library that was found at run time cannot serve this engine; empty:
/// it can. Within one major version Open MPI keeps its binary interface.
const char *problem() {
  static char text[256 + MPI_MAX_LIBRARY_VERSION_STRING];
  char found[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int size = 0;
  MPI_Get_library_version(found, &size);
  found[strcspn(found, ",\n")] = '\0';
  char expected[64];
  const int length =
      snprintf(expected, sizeof(expected), "Open MPI v%d.", OMPI_MAJOR_VERSION);
  if (strncmp(found, expected, size_t(length)) == 0)
    return "";
  snprintf(text, sizeof(text),
           "expects the MPI that it was built with, Open MPI %d, but got '%s'",
           OMPI_MAJOR_VERSION, found);
  return text;
}

} // namespace

#define HONE_EXPORTED extern "C" __attribute__((visibility("default")))

HONE_EXPORTED const char *hone_exchange_problem(void) { return problem(); }

HONE_EXPORTED int hone_exchange_place(uint32_t *rank, uint32_t *ranks,
                                      char *why, uint64_t capacity) {
  World &own = world();
  std::lock_guard<std::mutex> lock(own.mutex);
  std::string reason;
  if (!begin(own, reason)) {
    snprintf(why, capacity, "%s", reason.c_str());
    return -1;
  }
  *rank = uint32_t(own.rank);
  *ranks = uint32_t(own.ranks);
  return 0;
}

/// The engine's own memory, more for each other program that mpirun started and
/// for each link, and its part of a plan.
static constexpr uint64_t kBytes = 11 << 18, kProgramBytes = 6 << 10,
                          kLinkBytes = 12 << 10, kPlanBytes = 4 << 20;
/// Messages of up to 64 KiB Open MPI sends over TCP unasked, and keeps all that
/// nobody has taken yet. Of a longer one it keeps the beginning.
static constexpr uint64_t kLeastPiece = 64 << 10;

HONE_EXPORTED const hone_engine *hone_exchange_engine(void) {
  static const hone_engine engine = {HONE_ENGINE_VERSION,
                                     sizeof(hone_engine),
                                     "mpi",
                                     openLink,
                                     sendFrame,
                                     nextFrame,
                                     wakeLink,
                                     closeLink,
                                     kBytes,
                                     kProgramBytes,
                                     kLinkBytes,
                                     /*is_ordered=*/1,
                                     /*link_frames=*/2,
                                     /*piece_bytes=*/0,
                                     kLeastPiece,
                                     kPlanBytes};
  return &engine;
}
