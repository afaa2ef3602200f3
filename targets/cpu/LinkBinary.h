//===- LinkBinary.h - One object and the runtime become a program ---------===//
//
// A compiler driver is run, never a linker: only drivers know where a
// system's start files and C++ library are. No shell is involved.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_CPU_LINKBINARY_H
#define HONE_TARGETS_CPU_LINKBINARY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace hone {

struct LinkRequest {
  std::string object;
  /// Static archives, in link order.
  std::vector<std::string> libraries;
  std::string output;
  std::string triple;
  /// A driver's name or path; empty: $CXX for this machine's triple, then the
  /// first of clang++-22, clang++, g++, c++ that is found. For another triple
  /// clang++-22 with --target and lld, `<triple>-g++`, then clang++.
  std::string linker;
};

/// Whether programs for `triple` are of this machine's architecture and
/// system. They may still need features that its CPU lacks.
bool isHostTriple(llvm::StringRef triple);

/// The name that cross toolchains have for any spelling of `triple`, and that
/// the runtime's folder for it has: "aarch64-linux-gnu".
std::string toolchainTriple(llvm::StringRef triple);

/// Writes `request.output` whole or not at all. The error holds what the
/// driver printed.
llvm::Error linkBinary(const LinkRequest &request);

} // namespace hone

#endif // HONE_TARGETS_CPU_LINKBINARY_H
