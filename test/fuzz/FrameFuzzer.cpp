//===- FrameFuzzer.cpp - Any frames, to a session that trains -------------===//
//
// libFuzzer target: the frames of another program. Bytes become frames whose
// checksums are right, or come as they are. Beyond not crashing: a message is
// written only where it was to be, only whole ones are taken, and no more than
// 64 MiB are in use.
//
//===----------------------------------------------------------------------===//

#include "exchange/Session.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sanitizer/allocator_interface.h>
#include <utility>

using namespace hone::rt;

namespace {

/// The rest of the input; after it, bytes that follow from it, since a
/// session costs more than a hundred frames.
struct Bytes {
  const uint8_t *at;
  size_t left;
  uint64_t state = 0x9e3779b97f4a7c15;

  uint64_t take(size_t count) {
    uint64_t value = 0;
    for (; count > 0; --count)
      value = value << 8 | next();
    return value;
  }
  uint8_t next() {
    if (left == 0) {
      state = state * 6364136223846793005 + 1442695040888963407;
      return uint8_t(state >> 56);
    }
    --left;
    state = (state ^ *at) * 0x100000001b3;
    return *at++;
  }
};
constexpr int kMore = 200; ///< frames after the input

constexpr size_t kMostBytes = 64 << 20; ///< in use, libFuzzer's corpus, too

Bytes input;
int left;                                    ///< of kMore
bool isSaid;                                 ///< the farewell at the end
bool onlyGreets = false, hasGreeted = false; ///< later frames are well-behaved

/// Prints at the end the counts of frames.
struct Count {
  std::atomic<uint64_t> frames{0};
  size_t bytes = 0; ///< in use, at most

  void next() {
    ++frames;
    bytes = std::max(bytes, __sanitizer_get_current_allocated_bytes());
    if (bytes > kMostBytes)
      std::abort();
  }
  ~Count() {
    fprintf(stderr, "executed: %llu frames, at most %zu MiB in use\n",
            (unsigned long long)frames, (bytes + 0xfffff) >> 20);
  }
} count;

constexpr const char *kChannel = "c";
constexpr uint64_t kSizes[] = {8, 64, 65, 5000};

/// One of the numbers that the session knows, or another; after the input
/// seldom another, since that ends a session.
uint64_t near(uint64_t known, uint64_t byte) {
  if (input.left == 0)
    return byte < 250 ? known : known + byte;
  return byte < 192 ? known : byte < 224 ? known + 1 : ~uint64_t(0) - byte;
}

/// The frames of this session's peer.
const std::string &greeting() {
  static const std::string right =
      ".incarnation=1\nmodel=m\nprotocol=" + std::to_string(kProtocol) +
      "\nbytes of a frame=" + std::to_string(kMostFramePayload) + "\n";
  return right;
}

int64_t greet(Frame &frame, char *out) {
  frame.kind = FrameKind::Greeting;
  frame.payload = greeting().data();
  frame.payloadBytes = uint32_t(greeting().size());
  return int64_t(encode(frame, out));
}

/// Any bytes get a kind, the protocol and the checksum of a frame, so that its
/// numbers are read.
void seal(char *frame, size_t size) {
  if (size < 6)
    return;
  frame[0] = char(FrameKind::Data);
  frame[1] = char(kProtocol);
  const uint32_t crc = crc32c(frame + 6, size - 6, crc32c(frame, 2));
  memcpy(frame + 2, &crc, sizeof(crc));
}

int64_t nextFrame(hone_link *, void *bytes, uint64_t capacity, int) {
  static std::string payload(kMostFramePayload, 'p');
  char *const out = static_cast<char *>(bytes);
  Frame frame;
  frame.run = 1;
  if (onlyGreets && !std::exchange(hasGreeted, true))
    return greet(frame, out);
  if (onlyGreets || (input.left == 0 && left-- <= 0)) {
    if (isSaid)
      return 0;
    isSaid = true;
    frame.kind = FrameKind::Farewell;
    return int64_t(encode(frame, out));
  }
  count.next();
  const uint64_t form = input.take(1);
  if (form >= 232) { // as they are
    const uint64_t wanted = input.take(1);
    const size_t size = std::min({wanted, uint64_t(input.left), capacity});
    memcpy(bytes, input.at, size);
    input.at += size;
    input.left -= size;
    if (form < 240)
      seal(out, size);
    return int64_t(size);
  }
  frame.kind = FrameKind(1 + form % uint16_t(FrameKind::Refusal));
  const uint64_t known = input.take(1) % 4;
  frame.run = near(1, input.take(1));
  frame.name = {
      uint32_t(near(form < 200 ? 0 : kControl, input.take(1))),
      near(3, input.take(1)),
      near(channelNumber(form < 220 ? kChannel : "halt"), input.take(1)),
      known};
  frame.size = near(kSizes[known], input.take(1));
  frame.offset = std::min(near(0, input.take(1)), frame.size);
  frame.payloadBytes = uint32_t(std::min<uint64_t>(
      near(frame.size - frame.offset, input.take(1)), kMostFramePayload));
  frame.payload = payload.data();
  if (frame.kind == FrameKind::Greeting) {
    const uint64_t wanted = input.take(1);
    frame.payloadBytes = uint32_t(std::min(wanted, uint64_t(input.left)));
    frame.payload = reinterpret_cast<const char *>(input.at);
    if (input.left == 0)
      return greet(frame, out);
    input.at += frame.payloadBytes;
    input.left -= frame.payloadBytes;
  }
  return int64_t(encode(frame, out));
}

char link; ///< there is one

const hone_engine engine = {
    HONE_ENGINE_VERSION,
    sizeof(hone_engine),
    "fuzz",
    [](const char *, const char *, const char *, int, char *, uint64_t) {
      return reinterpret_cast<hone_link *>(&link);
    },
    [](hone_link *, const void *, uint64_t) { return 0; },
    nextFrame,
    [](hone_link *) {},
    [](hone_link *) {},
    /*bytes=*/0,
    /*program_bytes=*/0,
    /*link_bytes=*/0,
    /*is_ordered=*/0,
    /*link_frames=*/0,
    kMostFramePayload,
    /*least_piece_bytes=*/0,
    /*plan_bytes=*/0};

std::atomic<uint64_t> events{0};
uint64_t seen = 0;

Session::Peer peer(int milliseconds) {
  return {&engine,
          "",
          "a",
          "b",
          /*run=*/1,
          std::make_shared<const std::string>("model=m\n"),
          {std::chrono::milliseconds(milliseconds)},
          &events,
          &seen,
          /*mayHalt=*/true,
          /*waiting=*/nullptr,
          /*outlives=*/true,
          /*countsRestarts=*/true,
          kMostFramePayload};
}

} // namespace

/// Of a session that takes no greeting nothing is tried.
extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  onlyGreets = true;
  Result<std::unique_ptr<Session>> session = Session::open(peer(60000));
  if (!session.isOk()) {
    fputs(session.status().render().c_str(), stderr);
    std::abort();
  }
  session.value().reset();
  onlyGreets = false;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  input = {data, size};
  isSaid = false;
  left = kMore;
  seen = events = 0;
  constexpr size_t guard = 64;
  std::string in[4], out[4];
  {
    auto session = Session::start(peer(20));
    if (!session.isOk())
      return 0;
    for (uint64_t i = 0; i < 4; ++i) {
      in[i].assign(kSizes[i] + guard, '-');
      out[i].assign(kSizes[i], 'o');
      (void)session.value()->postReceive({0, 3, kChannel, i, "b", false},
                                         in[i].data(), kSizes[i]);
      (void)session.value()->postSend({0, 3, kChannel, i, "b", true},
                                      out[i].data(), kSizes[i]);
    }
    for (uint64_t i = 0; i < 4; ++i) {
      const Transport::Message message{0, 3, kChannel, i, "b", false};
      const bool isWhole = session.value()->wait(message).isOk();
      // Of a message that was taken every byte is the sender's.
      if (isWhole && in[i].find('-') < kSizes[i])
        std::abort();
      session.value()->cancel(message);
      session.value()->cancel({0, 3, kChannel, i, "b", true});
    }
  }
  for (uint64_t i = 0; i < 4; ++i)
    if (in[i].substr(kSizes[i]) != std::string(guard, '-'))
      std::abort();
  return 0;
}
