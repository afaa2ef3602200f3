//===- Memory.h - What gRPC takes for links and frames --------------------===//
//
// Of the engine, in bytes, and of whoever predicts what it does.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>

namespace hone::grpc_engine {

/// What gRPC allocates at most, and for each link beside that, without frames.
constexpr uint64_t kBytes = 6 << 20, kLinkBytes = 256 << 10;
/// Of a link: two frames that have come, and one that leaves, which is there
/// twice while TLS makes records of it.
constexpr uint32_t kLinkFrames = 4;
/// Of a message in a frame, at most. Whatever a frame has, up to 1 MiB, gRPC
/// asks for it once.
constexpr uint64_t kPieceBytes = 896 << 10;
/// Of a frame, so much comes before gRPC has asked for the rest, whatever is
/// connected: HTTP/2's for a connection, which no setting of gRPC's changes.
constexpr uint64_t kWindow = 64 << 10;

} // namespace hone::grpc_engine
