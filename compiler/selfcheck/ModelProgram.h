//===- ModelProgram.h - The small model, compiled to be checked -----------===//

#pragma once

#include "compiler/selfcheck/CheckModel.h"
#include "compiler/selfcheck/EntryProgram.h"
#include "dialects/Hone/HoneOps.h"

#include <map>

namespace hone::selfcheck {

/// The error that differences leave in the slope.
constexpr double kDifferenceLimit = 1e-6;
constexpr double kStep = 1.6e-5;

/// Loss and gradient of the one batch.
struct Outcome {
  double loss = 0;
  std::vector<double> gradient;
};

/// Adds an entry to a module with the entry @loss, which is taken out then.
using Derive = llvm::function_ref<mlir::FailureOr<EntryOp>(EntryOp loss)>;

/// A method's entries of the model, as a program with its weights.
class ModelProgram {
public:
  static llvm::Expected<ModelProgram> build(mlir::ModuleOp model, Derive derive,
                                            const Target &target,
                                            CheckValues::Tensors weights);
  /// Everything but arguments.
  void setInputs(const std::vector<double> &theta);
  template <typename T>
  void setArgument(unsigned index, llvm::ArrayRef<T> values) {
    program.write("argument." + std::to_string(index), values);
  }
  void run(rt::Pool &pool) { program.run(kRows, pool); }
  double number(unsigned result) const { return numbers(result, 1)[0]; }
  std::vector<double> numbers(unsigned result, size_t count) const {
    return program.read("result." + std::to_string(result), count);
  }
  /// Of an input that is none of the batch's.
  void setInput(const std::string &name, llvm::ArrayRef<double> values) {
    program.write("input." + name, values);
  }
  /// After run(), of a program that derives the gradient.
  std::vector<double> gradient() const {
    return program.read("gradient", elements);
  }
  /// Of such a program, with the scale 1.
  Outcome gradientAt(const std::vector<double> &theta, rt::Pool &pool);

  CheckValues::Tensors takeWeights() { return std::move(weights); }

private:
  EntryProgram program;
  size_t elements = 0; ///< of theta
  CheckValues::Tensors weights;
  std::map<std::string, std::vector<int32_t>> inputs;
};

inline llvm::ArrayRef<double> slice(const std::vector<double> &vector,
                                    const Parameter &parameter) {
  return llvm::ArrayRef(vector).slice(parameter.offset,
                                      parameter.type.getNumElements());
}

/// |a - b| / |b|
double relativeError(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b);

/// Sets the tensor's part of `direction`: as much along its gradient as across
/// it, so that no tensor is too small to be seen and no slope is near zero.
void setDirection(const Parameter &parameter,
                  const std::vector<double> &gradient,
                  std::vector<double> &direction);

std::vector<double> moved(std::vector<double> theta, double step,
                          llvm::ArrayRef<double> direction);

/// The slope along `direction` of `loss`, a function of theta.
double slopeOf(llvm::function_ref<double(const std::vector<double> &)> loss,
               const std::vector<double> &theta,
               llvm::ArrayRef<double> direction);

} // namespace hone::selfcheck
