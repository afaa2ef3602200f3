//===- CheckModel.h - The user's model, small enough to check -------------===//
//
// Cut from the imported module and not built from a smaller configuration: so
// the checks are of the user's own blocks, adapters and storages, and .mlir
// models are no special case.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/selfcheck/EntryProgram.h"
#include "passes/module/ParameterTable.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace hone::selfcheck {

/// More rows than kernels for few rows take, in two sequences.
constexpr int64_t kRows = 40, kSecondSequence = 23;
/// At most, of ids and of the head's rows.
constexpr int64_t kVocabulary = 512;
/// Of each kind, at most: the lowest needs no cotangent of its input, so one
/// alone would leave the adjoints that make it unread.
constexpr int64_t kLayersOfAKind = 2;

/// Cuts `module`, which is as imported: layers of each kind, the vocabulary,
/// and the rows of a batch. Widths stay. Does nothing without an entry @loss.
void shrink(mlir::ModuleOp module);

/// A description of the model after shrink(), for people.
std::string describeModel();

/// Every float of `module` becomes f64, and every parameter is stored as that.
void convertToFloat64(mlir::ModuleOp module);

/// Puts a smooth activation in the place of each that has a kink, which
/// differences of a whole model would cross somewhere.
void removeKinks(mlir::ModuleOp module);

/// A number in [-1, 1), a function of name and index.
class RandomNumbers {
public:
  explicit RandomNumbers(const std::string &name);
  double operator[](uint64_t index) const;
  std::vector<double> take(size_t count) const;

private:
  uint64_t key;
};

/// Ids, targets, sequence starts and random key of the one batch, by the
/// input's name.
std::vector<int32_t> integersOf(InputOp input, int64_t vocabulary,
                                int64_t rows = kRows);

/// Random values for all parameters of a shrunk module. Layers of one kind have
/// the same frozen values, so there is one layer's weights in memory.
class CheckValues {
public:
  /// `module` stores them as the user asked for.
  explicit CheckValues(mlir::ModuleOp module, const ParameterTable &table);

  /// The frozen tensors, in the order of first use.
  struct Tensors {
    std::vector<std::vector<char>> bytes;
    std::vector<const void *> table;
  };
  /// As they are stored.
  Tensors stored() const;
  /// The same values in f64.
  Tensors decoded() const;
  /// Of the trainable ones, exact in the type that they are stored in.
  const std::vector<double> &theta() const { return trainable; }

private:
  struct Source {
    std::string name; ///< of the first layer's tensor with these values
    double center;    ///< the mean of values: factors of norms, near 1
    double scale;     ///< the factor of their product
  };
  std::vector<float> random(const Parameter &parameter,
                            const Source &source) const;
  Tensors
  make(llvm::function_ref<std::vector<std::vector<char>>(const Parameter &,
                                                         const Source &)>
           encode) const;

  const ParameterTable &parameters;
  std::map<std::string, Source> sources; ///< by the tensor's name
  std::vector<double> trainable;
};

} // namespace hone::selfcheck
