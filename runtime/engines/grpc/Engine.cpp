//===- Engine.cpp - Frames over gRPC, as hone/engine.h has it -------------===//

#include "hone/engine.h"

#include "Memory.h"
#include "Network.h"

#include <cerrno>
#include <cstdio>
#include <exception>

namespace grpc_engine = hone::grpc_engine;
using hone::grpc_engine::Network;
using hone::grpc_engine::Stream;

struct hone_link {
  Network *network;
  std::shared_ptr<Stream> stream;
  bool isWoken = false;
  bool waits = false; ///< send() was told to wait
};

static hone_link *openLink(const char *address, const char *self,
                           const char *peer, int milliseconds, char *why,
                           uint64_t capacity) {
  const Network::Clock::time_point until =
      Network::Clock::now() + std::chrono::milliseconds(milliseconds);
  std::string reason;
  int refusal = EINVAL;
  std::shared_ptr<Stream> stream;
  Network *network = Network::of(address, reason);
  if (network)
    stream = network->open(self, peer, until, reason, refusal);
  if (stream)
    return new hone_link{network, std::move(stream)};
  snprintf(why, capacity, "%s", reason.c_str());
  errno = refusal;
  return nullptr;
}

extern "C" __attribute__((visibility("default"))) int
hone_exchange_check(const char *address, char *why, uint64_t capacity) {
  std::string reason;
  if (Network::of(address, reason))
    return 0;
  snprintf(why, capacity, "%s", reason.c_str());
  return -1;
}

static int sendFrame(hone_link *link, const void *bytes, uint64_t size) {
  std::lock_guard<std::mutex> lock(link->network->mutex);
  if (!link->stream->isOpen())
    return -1;
  link->waits = link->stream->isWriting();
  if (link->waits)
    return 1;
  link->stream->send(bytes, size);
  return 0;
}

static int64_t nextFrame(hone_link *link, void *bytes, uint64_t capacity,
                         int milliseconds) {
  std::unique_lock<std::mutex> lock(link->network->mutex);
  int64_t size = 0;
  auto isOver = [&] {
    size = link->stream->take(bytes, capacity);
    return size != 0 || link->isWoken || link->stream->isLost() ||
           (link->waits && !link->stream->isWriting());
  };
  link->network->changed.wait_for(lock, std::chrono::milliseconds(milliseconds),
                                  isOver);
  if (size != 0)
    return size;
  link->isWoken = link->waits = false;
  return link->stream->isLost() ? -1 : 0;
}

static void wakeLink(hone_link *link) {
  std::lock_guard<std::mutex> lock(link->network->mutex);
  link->isWoken = true;
  link->network->changed.notify_all();
}

static void closeLink(hone_link *link) {
  {
    std::lock_guard<std::mutex> lock(link->network->mutex);
    link->stream->leave();
  }
  delete link;
}

extern "C" __attribute__((visibility("default"))) const hone_engine *
hone_exchange_engine(void) {
  static const hone_engine engine = {HONE_ENGINE_VERSION,
                                     sizeof(hone_engine),
                                     "grpc",
                                     openLink,
                                     sendFrame,
                                     nextFrame,
                                     wakeLink,
                                     closeLink,
                                     grpc_engine::kBytes,
                                     /*program_bytes=*/0,
                                     grpc_engine::kLinkBytes,
                                     /*is_ordered=*/1,
                                     grpc_engine::kLinkFrames,
                                     grpc_engine::kPieceBytes,
                                     /*least_piece_bytes=*/0,
                                     grpc_engine::kPlanBytes};
  return &engine;
}
