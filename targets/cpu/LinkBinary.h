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
  /// `<triple>-g++`, then clang with --target.
  std::string linker;
};

/// Writes `request.output` whole or not at all. The error holds what the
/// driver printed.
llvm::Error linkBinary(const LinkRequest &request);

} // namespace hone

#endif // HONE_TARGETS_CPU_LINKBINARY_H
