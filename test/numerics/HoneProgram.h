//===- HoneProgram.h - Compile hone IR and run it in this process ---------===//
//
// EntryProgram for a text, and for tests: they cannot go on without it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/selfcheck/EntryProgram.h"

#include <optional>
#include <string>
#include <vector>

namespace hone {

/// The target that programs are compiled for: HONE_TARGET, or "native".
std::string targetUnderTest();

/// Whether products of `element` are matrix units', which add in an order of
/// their own: bits are those of no other machine, nor of other blocks of rows.
bool addsOnMatrixUnits(const std::string &element);

class HoneProgram {
public:
  /// Compiles the module `ir`, see EntryProgram::build. Exits with a message if
  /// that fails. `bfloat16Products`: products may round their operands.
  explicit HoneProgram(llvm::StringRef ir, bool bfloat16Products = false);

  void reset() {
    program.reset();
    if (beside)
      beside->reset();
  }
  template <typename T>
  void write(llvm::StringRef region, const std::vector<T> &values) {
    program.write(region, values);
    if (beside)
      beside->write(region, values);
  }
  /// On a device an expectation of the test fails if the processor left other
  /// bits there and the test's suite promises the same.
  std::vector<double> read(llvm::StringRef region, size_t count) const;
  std::vector<int32_t> readIntegers(llvm::StringRef region,
                                    size_t count) const {
    return program.readIntegers(region, count);
  }
  /// Sets the frozen tensors in the order of their first use.
  void setWeights(const std::vector<std::vector<double>> &values);

  /// On the host, and on a device whose memory it cannot see: exits with a
  /// message if they leave other bits. A target's kernels for a device run on
  /// that, which has a driver, and the processor's beside where their bits are
  /// promised.
  void run(int64_t rows, unsigned threads);
  bool isForDevice() const { return isOnDevice; }

private:
  EntryProgram program;
  bool isOnDevice = false;
  /// The same for the processor, where a test promises its bits.
  std::optional<EntryProgram> beside;
  std::vector<std::vector<double>> weights;
  std::vector<std::vector<float>> rounded; ///< weights of a float32 program
};

} // namespace hone
