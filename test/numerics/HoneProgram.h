//===- HoneProgram.h - Compile hone IR and run it in this process ---------===//
//
// Placement, kernels and code generation are the real ones, and so is the
// thread pool; only the frame is made by hand. Memory that a run must not read
// is filled with NaN, so a kernel that strays shows it in its result.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_NUMERICS_HONEPROGRAM_H
#define HONE_TEST_NUMERICS_HONEPROGRAM_H

#include "test/targets/LoadedModule.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hone {

/// The target that programs are compiled for: what HONE_TARGET names, or
/// "native".
std::string targetUnderTest();

class HoneProgram {
public:
  /// Compiles the module `ir` to run its first entry, or if it has none the
  /// function that its schedule's `hone.scalar` calls. Exits with a message if
  /// that fails: a test cannot go on. `bfloat16Products`: products may round
  /// their operands.
  explicit HoneProgram(llvm::StringRef ir, bool bfloat16Products = false);

  /// Fills the arena with NaN and zeroes the gradient.
  void reset();
  /// Writes a region from its start on: "theta", "input.x", or a value of the
  /// entry: "argument.0", "result.0". Values are converted to its element type.
  void write(llvm::StringRef region, const std::vector<double> &values);
  void write(llvm::StringRef region, const std::vector<int32_t> &values);
  /// The first `count` values of a region.
  std::vector<double> read(llvm::StringRef region, size_t count) const;
  /// The same of one of 32-bit integers.
  std::vector<int32_t> readIntegers(llvm::StringRef region, size_t count) const;
  /// Sets the frozen tensors in the order of their first use.
  void setWeights(std::vector<std::vector<double>> values);

  void run(int64_t rows, unsigned threads);

private:
  char elementOf(llvm::StringRef region) const;
  char *at(llvm::StringRef region) const;

  LoadedModule loaded;
  llvm::StringMap<int64_t> offsets;
  llvm::StringMap<char> elements;
  int64_t arenaBytes = 0, gradientBytes = 0, gradientEnd = 0;
  /// Where the entry's arguments and results are, behind the arena; where its
  /// working set is.
  std::vector<int64_t> boundary;
  int64_t boundaryEnd = 0, work = 0;
  std::vector<std::vector<char>> weights;
  std::vector<char> arenaStorage;
  char *arena = nullptr;
};

} // namespace hone

#endif
