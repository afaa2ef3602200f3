//===- Timing.h - When links are looked after and dialled again -----------===//
//
// In milliseconds, of both sides.
//
//===----------------------------------------------------------------------===//

#pragma once

namespace hone::grpc_engine {

/// After so long without a byte the other side is asked whether it is there;
/// a side that asks more often than permitted is cut off.
constexpr int kPingEvery = 20000, kPingPermittedEvery = 5000;
/// For the answer, which comes after the bytes under way, a window of 64 KiB:
/// over a minute at 1 KB/s.
constexpr int kPingAnswer = 120000;

/// Between two attempts to dial: the first pause and the longest. gRPC makes
/// each 1.6 times the one before, and moves it by up to a fifth, at random.
constexpr int kFirstPause = 1000, kMostPause = 60000;

} // namespace hone::grpc_engine
