//===- Listening.h - Why a program cannot listen somewhere ----------------===//

#pragma once

#include <string>

namespace hone::grpc_engine {

/// Why nothing can listen at `address`, HOST:PORT or unix:PATH, now; empty: it
/// can. gRPC would not say, and would take a socket of the file system from
/// its listener.
std::string problemOfListening(const std::string &address);

} // namespace hone::grpc_engine
