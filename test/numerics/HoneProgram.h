//===- HoneProgram.h - Compile hone IR and run it in this process ---------===//
//
// EntryProgram for a text, and for tests: they cannot go on without it.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_NUMERICS_HONEPROGRAM_H
#define HONE_TEST_NUMERICS_HONEPROGRAM_H

#include "compiler/selfcheck/EntryProgram.h"

#include <string>
#include <vector>

namespace hone {

/// The target that programs are compiled for: what HONE_TARGET names, or
/// "native".
std::string targetUnderTest();

class HoneProgram {
public:
  /// Compiles the module `ir`, see EntryProgram::build. Exits with a message if
  /// that fails. `bfloat16Products`: products may round their operands.
  explicit HoneProgram(llvm::StringRef ir, bool bfloat16Products = false);

  void reset() { program.reset(); }
  void write(llvm::StringRef region, const std::vector<double> &values) {
    program.write(region, values);
  }
  void write(llvm::StringRef region, const std::vector<int32_t> &values) {
    program.write(region, values);
  }
  std::vector<double> read(llvm::StringRef region, size_t count) const {
    return program.read(region, count);
  }
  std::vector<int32_t> readIntegers(llvm::StringRef region,
                                    size_t count) const {
    return program.readIntegers(region, count);
  }
  /// Sets the frozen tensors in the order of their first use.
  void setWeights(const std::vector<std::vector<double>> &values);

  /// On the host, and on a device whose memory it cannot see: exits with a
  /// message if they leave other bits.
  void run(int64_t rows, unsigned threads);

private:
  EntryProgram program;
  std::vector<std::vector<double>> weights;
  std::vector<std::vector<float>> rounded; ///< weights of a float32 program
};

} // namespace hone

#endif
