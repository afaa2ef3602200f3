//===- TestEngine.cpp - Carries frames badly, by seed ---------------------===//
//
// Frames over a local socket between two processes. HONE_TEST_ENGINE says how
// badly: "SEED LOSE DOUBLE LATE FLIP CUT", in frames of 10,000: lost, sent
// twice, held back for up to three milliseconds, with one bit flipped, and
// after which the link is cut. The file ADDRESS/cuts has a byte for each cut.
//
// HONE_TEST_EVENT names an event of the process: "WHEN COUNT WHAT". WHEN is
// greeting, validated (the peer has all that it needs to save), or a command to
// the others (step, evaluate, loss, save, durable, end, best, result), sent or
// received, or to-PEER, a message of a schedule to it; COUNT which of them;
// WHAT is kill; sent: the same once the frame has left; mute: from then on it
// lives but sends no messages; unheard: it sends no acknowledgements and no
// farewell; or excess: it sends the frame with a message that ends in its
// middle, which no schedule has.
//
//===----------------------------------------------------------------------===//

#include "exchange/Frame.h"
#include "hone/engine.h"
#include "hone/runtime.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <poll.h>
#include <random>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

struct hone_link {
  int socket = -1;
  int wake[2] = {-1, -1};
  std::vector<char> in;  ///< of frames that are not whole yet
  std::vector<char> out; ///< of a frame that has not left
  std::string cuts;      ///< a file that has a byte for each
  std::string peer;
};

namespace {

using namespace hone::rt;

/// The purpose of messages of no schedule.
constexpr uint32_t kOfNoSchedule = 0xfffffffe;

struct Badness {
  std::mt19937_64 random;
  unsigned lose = 0, twice = 0, late = 0, flip = 0, cut = 0;

  Badness() {
    unsigned long long seed = 0;
    if (const char *text = getenv("HONE_TEST_ENGINE"))
      sscanf(text, "%llu %u %u %u %u %u", &seed, &lose, &twice, &late, &flip,
             &cut);
    static std::atomic<unsigned> sides{0};
    random.seed(seed * 7919 + (unsigned long long)getpid() % 2 + 2 * sides++);
  }
  bool draw(unsigned of10000) { return random() % 10000 < of10000; }
};

std::mutex mutex;
std::map<std::string, int> listening; ///< by address

/// Of each thread that moves frames.
Badness &badness() {
  static thread_local Badness one;
  return one;
}

sockaddr_un at(const std::string &path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof(address.sun_path), "%s", path.c_str());
  return address;
}

/// Sends as much of link->out as the socket takes; false: the link is lost.
bool flush(hone_link *link) {
  while (!link->out.empty()) {
    ssize_t done = send(link->socket, link->out.data(), link->out.size(),
                        MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0)
      return errno == EAGAIN || errno == EWOULDBLOCK;
    link->out.erase(link->out.begin(), link->out.begin() + done);
  }
  return true;
}

void append(std::vector<char> &out, const void *bytes, size_t size) {
  const char *at = static_cast<const char *>(bytes);
  out.insert(out.end(), at, at + size);
}

/// The socket that listens at `path`, which stays as long as the process.
int listenAt(const std::string &path, std::string &why) {
  std::lock_guard<std::mutex> lock(mutex);
  auto [own, isNew] = listening.emplace(path, -1);
  if (!isNew)
    return own->second;
  sockaddr_un address = at(path);
  unlink(path.c_str());
  own->second = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(own->second, reinterpret_cast<sockaddr *>(&address),
           sizeof(address)) != 0 ||
      listen(own->second, 8) != 0)
    why = strerror(errno);
  return own->second;
}

/// The event of this process, for all its links.
struct Event {
  std::mutex mutex;
  std::string when;
  unsigned count = 0;
  bool isKill = false, isSent = false, isExcess = false, isUnheard = false;
  bool isSilent = false, isLast = false; ///< from now on; of all frames
  uint64_t run = 0, command = 0;         ///< counted last
  uint64_t validated = ~uint64_t(0);     ///< the same

  Event() {
    char name[16] = "", what[16] = "";
    if (const char *text = getenv("HONE_TEST_EVENT"))
      if (sscanf(text, "%15s %u %15s", name, &count, what) == 3)
        when = name, isKill = !strcmp(what, "kill"),
        isSent = !strcmp(what, "sent"), isExcess = !strcmp(what, "excess"),
        isUnheard = !strcmp(what, "unheard");
  }
  /// "" for a frame that is none of them, or one of which there was a copy.
  /// `to` is the receiver; "" if the frame comes.
  std::string nameOf(const Frame &frame, const std::string &to) {
    static const char *const commands[] = {"step", "evaluate", "loss",
                                           "save", "durable",  "end",
                                           "best", "best",     "result"};
    const uint32_t schedule = frame.name.schedule;
    const uint64_t step = frame.name.step;
    if (frame.kind == FrameKind::Greeting)
      return "greeting";
    // The peer has all that it checks before it saves, so it saves.
    if (frame.kind == FrameKind::Ack && schedule == HONE_VALIDATE)
      return std::exchange(validated, step) == step ? "" : "validated";
    if (frame.kind == FrameKind::Data && schedule < kOfNoSchedule)
      return to.empty() ? "" : "to-" + to;
    uint64_t number = 0;
    if (frame.kind != FrameKind::Data || schedule != kOfNoSchedule ||
        frame.payloadBytes != 2 * sizeof(number) ||
        frame.name.channel != channelNumber("command"))
      return "";
    if (frame.run == run && step <= command)
      return "";
    run = frame.run, command = step;
    memcpy(&number, frame.payload, sizeof(number));
    return number < 9 ? commands[number] : "";
  }
  /// Of a frame that comes or goes; whether it is to be one of excess.
  bool see(const char *bytes, uint64_t size, const std::string &to) {
    std::lock_guard<std::mutex> lock(mutex);
    if (count == 0)
      return false;
    const std::optional<Frame> frame = decode(bytes, size);
    if (!frame || nameOf(*frame, to) != when || --count > 0)
      return false;
    if (isKill)
      raise(SIGKILL);
    isLast = isSent;
    isSilent = !isExcess && !isSent;
    return isExcess;
  }
};

/// The message ends a byte before the payload does.
void exceed(std::vector<char> &bytes) {
  Frame frame = *decode(bytes.data(), bytes.size());
  const std::string payload(frame.payload, frame.payloadBytes);
  frame.payload = payload.data();
  frame.offset = 0;
  frame.size = payload.size() - 1;
  bytes.resize(kFrameHeader + payload.size());
  bytes.resize(encode(frame, bytes.data()));
}

Event &event() {
  static Event one;
  return one;
}

/// The first of the two by name listens.
int connectTo(const std::string &path, bool listens, int milliseconds,
              std::string &why) {
  sockaddr_un address = at(path);
  auto *general = reinterpret_cast<sockaddr *>(&address);
  if (!listens) {
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(made, general, sizeof(address)) == 0)
      return made;
    why = strerror(errno);
    close(made);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return -1;
  }
  const int listener = listenAt(path, why);
  if (listener < 0)
    return -1;
  pollfd waits = {listener, POLLIN, 0};
  int made = -1;
  // The newest of the dialling peers: the others are gone.
  while (poll(&waits, 1, made < 0 ? milliseconds : 0) > 0) {
    if (made >= 0)
      close(made);
    made = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  }
  if (made < 0)
    why = "nobody dials";
  return made;
}

hone_link *openLink(const char *address, const char *self, const char *peer,
                    int milliseconds, char *why, uint64_t capacity) {
  const bool listens = strcmp(self, peer) < 0;
  const std::string path = std::string(address) + "/" +
                           (listens ? self : peer) + "-" +
                           (listens ? peer : self);
  std::string reason;
  int made = connectTo(path, listens, milliseconds, reason);
  if (made < 0) {
    snprintf(why, capacity, "%s", reason.c_str());
    return nullptr;
  }
  auto *link = new hone_link;
  link->socket = made;
  link->cuts = std::string(address) + "/cuts";
  link->peer = peer;
  if (pipe(link->wake) != 0)
    abort();
  return link;
}

int sendFrame(hone_link *link, const void *bytes, uint64_t size) {
  if (!flush(link))
    return -1;
  if (!link->out.empty())
    return 1;
  const bool isExcess =
      event().see(static_cast<const char *>(bytes), size, link->peer);
  if (event().isSilent) {
    const FrameKind kind = decode(static_cast<const char *>(bytes), size)->kind;
    if (kind == (event().isUnheard ? FrameKind::Ack : FrameKind::Data) ||
        kind == FrameKind::Farewell)
      return 0;
  }
  Badness &bad = badness();
  std::vector<char> frame(static_cast<const char *>(bytes),
                          static_cast<const char *>(bytes) + size);
  if (isExcess)
    exceed(frame);
  if (bad.draw(bad.flip))
    frame[bad.random() % frame.size()] ^= char(1 << bad.random() % 8);
  if (bad.draw(bad.late))
    std::this_thread::sleep_for(std::chrono::microseconds(bad.random() % 3000));
  const auto length = uint32_t(frame.size());
  for (int copies = bad.draw(bad.lose) ? 0 : 1 + bad.draw(bad.twice);
       copies > 0; --copies) {
    append(link->out, &length, sizeof(length));
    append(link->out, frame.data(), frame.size());
  }
  if (!bad.draw(bad.cut)) {
    const bool isAlive = flush(link);
    if (event().isLast && link->out.empty())
      raise(SIGKILL);
    return isAlive ? 0 : -1;
  }
  if (const int file = open(link->cuts.c_str(),
                            O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
      file >= 0) {
    (void)!write(file, "c", 1);
    close(file);
  }
  // In the middle of a frame.
  link->out.resize(link->out.size() / 2);
  flush(link);
  shutdown(link->socket, SHUT_RDWR);
  return -1;
}

/// The frame that is whole in link->in; 0: there is none.
int64_t takeFrame(hone_link *link, void *bytes, uint64_t capacity) {
  uint32_t length = 0;
  if (link->in.size() < sizeof(length))
    return 0;
  memcpy(&length, link->in.data(), sizeof(length));
  if (length > capacity)
    return -1;
  if (link->in.size() < sizeof(length) + length)
    return 0;
  memcpy(bytes, link->in.data() + sizeof(length), length);
  event().see(static_cast<const char *>(bytes), length, "");
  link->in.erase(link->in.begin(),
                 link->in.begin() + long(sizeof(length) + length));
  return int64_t(length);
}

int64_t nextFrame(hone_link *link, void *bytes, uint64_t capacity,
                  int milliseconds) {
  if (int64_t size = takeFrame(link, bytes, capacity))
    return size;
  const short wanted = short(link->out.empty() ? POLLIN : POLLIN | POLLOUT);
  pollfd waits[] = {{link->socket, wanted, 0}, {link->wake[0], POLLIN, 0}};
  while (poll(waits, 2, milliseconds) > 0) {
    if (waits[1].revents) {
      char taken[64];
      (void)!read(link->wake[0], taken, sizeof(taken));
      return 0;
    }
    if (waits[0].revents == POLLOUT)
      return flush(link) ? 0 : -1;
    char part[65536];
    ssize_t size = recv(link->socket, part, sizeof(part), 0);
    if (size <= 0)
      return -1;
    link->in.insert(link->in.end(), part, part + size);
    if (int64_t whole = takeFrame(link, bytes, capacity))
      return whole;
  }
  return 0;
}

void wakeLink(hone_link *link) { (void)!write(link->wake[1], "", 1); }

void closeLink(hone_link *link) {
  for (int file : {link->socket, link->wake[0], link->wake[1]})
    close(file);
  delete link;
}

} // namespace

extern "C" const hone_engine *hone_exchange_engine(void) {
  static const hone_engine engine = {HONE_ENGINE_VERSION,
                                     sizeof(hone_engine),
                                     "test",
                                     openLink,
                                     sendFrame,
                                     nextFrame,
                                     wakeLink,
                                     closeLink,
                                     /*bytes=*/1 << 20,
                                     /*program_bytes=*/0,
                                     /*link_bytes=*/2 << 20,
                                     /*is_ordered=*/0,
                                     /*link_frames=*/0,
                                     /*piece_bytes=*/0,
                                     /*least_piece_bytes=*/0,
                                     /*plan_bytes=*/0};
  return &engine;
}
