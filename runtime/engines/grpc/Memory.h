//===- Memory.h - Memory that gRPC takes for links and frames -------------===//
//
// In bytes, for the engine and for a prediction of it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "hone/engine.h"

#include <cstdint>

namespace hone::grpc_engine {

/// The most that gRPC allocates, and more for each link, without frames.
constexpr uint64_t kBytes = 7 << 20, kLinkBytes = 384 << 10;
/// Of a link: two frames that have come, and one that leaves, which is there
/// twice while TLS makes records of it.
constexpr uint32_t kLinkFrames = 4;
/// Of a message in a frame, at most. gRPC asks once for the memory of a frame
/// of up to 1 MiB.
constexpr uint64_t kPieceBytes = 896 << 10;
/// Of a program's plan, for all of this and the links' sessions.
constexpr uint64_t kPlanBytes = 16 << 20;
/// Of a frame, so much comes before gRPC asks for the rest. If more than half
/// of a connection's 64 KiB came before a read is posted, gRPC would ask at
/// once, and again at the read. 2 KiB of that half are for frames without a
/// payload.
constexpr uint64_t kWindow = 30 << 10;

/// An engine that has these numbers and no functions, for a plan.
inline hone_engine planned() {
  hone_engine engine{};
  engine.bytes = kBytes;
  engine.link_bytes = kLinkBytes;
  engine.is_ordered = 1;
  engine.link_frames = kLinkFrames;
  engine.piece_bytes = kPieceBytes;
  engine.plan_bytes = kPlanBytes;
  return engine;
}

} // namespace hone::grpc_engine
