//===- LinkBinary.h - One object and the runtime become a program ---------===//
//
// A compiler driver is run, never a linker: only drivers know where a
// system's start files and C++ library are. No shell is involved.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/Target.h"

namespace hone {

/// Whether programs for `triple` are of this machine's architecture, system and
/// C library; a triple that names no library means this machine's. They may
/// still need features that its CPU lacks.
bool isHostTriple(llvm::StringRef triple);

/// Whether this machine's kernel starts programs for `triple`: of static ones
/// it asks for no library.
bool runsHere(llvm::StringRef triple);

/// The name that cross toolchains have for any spelling of `triple`, and that
/// the runtime's folder for it has: "aarch64-linux-gnu", "arm64-apple-macosx".
std::string toolchainTriple(llvm::StringRef triple);

/// Whether only zig links for `triple`: a driver that brings musl, macOS's
/// interface and a C++ library for both, of which the archives are made, too.
bool needsZig(llvm::StringRef triple);

/// See Target::link. Without a linker's name: $CXX for this machine's triple,
/// then the first of clang++-22, clang++, g++, c++ that is found; for another
/// triple clang++-22 with --target and lld, `<triple>-g++`, then clang++; for
/// one that needsZig() linker/zig beside the archives' folder, then zig; for
/// others with another C library than GNU's only `<triple>-g++`.
llvm::Error linkBinary(const LinkRequest &request, llvm::StringRef triple);

} // namespace hone
