//===- ModelBuilder.h - hone IR in the words of a model -------------------===//
//
// Families write their blocks with it. Every op's location is the name of
// its Hugging Face module or tensor, relative to the layer.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace hone {

class ModelBuilder {
public:
  /// Adds to `module`, with activations of type `element`, for sequences of at
  /// most `longestSequence` tokens.
  ModelBuilder(mlir::ModuleOp module, mlir::Type element,
               int64_t longestSequence);

  int64_t longestSequence() const { return mostPositions; }
  /// The number of the activations' type that is nearest to `value`.
  double rounded(double value) const;

  /// `[rows, features]`.
  mlir::RankedTensorType rowsOf(int64_t features) const;

  /// A block with one result, which `body` makes of the arguments.
  void block(llvm::StringRef name, mlir::TypeRange arguments,
             llvm::function_ref<mlir::Value(mlir::ValueRange)> body);
  /// The entry @loss; `body` calls the blocks and returns the loss.
  void loss(llvm::function_ref<mlir::Value()> body);
  /// Runs `block` with the tensors whose names start with `prefix`.
  mlir::Value call(llvm::StringRef block, const std::string &prefix,
                   mlir::ValueRange operands);
  /// The same as the model's next layer: the first is number 0.
  mlir::Value layer(llvm::StringRef block, const std::string &prefix,
                    mlir::Value x);

  /// One integer a row, from the batch.
  mlir::Value rowInput(llvm::StringRef name);
  /// The tensor `name` of the model.
  mlir::Value parameter(const llvm::Twine &name, llvm::ArrayRef<int64_t> shape);

  /// Rows of the table of the module `name` for the tokens of the batch, times
  /// `scale` if there is one.
  mlir::Value embedding(llvm::StringRef name, int64_t vocabulary,
                        int64_t features, mlir::FloatAttr scale = {});
  /// x W^T + b, with the tensors of the module `name`.
  mlir::Value linear(llvm::StringRef name, mlir::Value x, int64_t out,
                     bool hasBias);
  /// The same with Transformers' Conv1D, whose weight the files hold as
  /// [in, out].
  mlir::Value conv1d(llvm::StringRef name, mlir::Value x, int64_t out);
  /// With one weight for `heads` slices of the features.
  mlir::Value rmsNorm(llvm::StringRef name, mlir::Value x, double epsilon,
                      int64_t heads = 1, double offset = 0);
  mlir::Value layerNorm(llvm::StringRef name, mlir::Value x, double epsilon);
  mlir::Value activation(llvm::StringRef name, Activation function,
                         mlir::Value x);
  /// Features `from` to `from + count - 1`.
  mlir::Value columns(llvm::StringRef name, mlir::Value x, int64_t from,
                      int64_t count);
  mlir::Value add(llvm::StringRef name, mlir::Value a, mlir::Value b);
  /// As hone.attention; `starts` is the input sequence_starts.
  struct Attention {
    mlir::Value q, k, v, starts;
    int64_t heads, keyValueHeads;
    std::optional<int64_t> window;
    double scale;
  };
  mlir::Value attention(llvm::StringRef name, const Attention &attention);
  /// The loss of the output head `name`, whose weight is the tensor `weight`.
  mlir::Value crossEntropy(llvm::StringRef name, mlir::Value x,
                           llvm::StringRef weight, int64_t vocabulary);

  mlir::Location at(const llvm::Twine &name);
  mlir::FloatAttr f64(double value) { return builder.getF64FloatAttr(value); }
  mlir::IntegerAttr i64(int64_t value) {
    return builder.getI64IntegerAttr(value);
  }
  /// At the end of the block or entry that is being built.
  mlir::OpBuilder &ops() { return builder; }

private:
  mlir::ModuleOp module;
  mlir::OpBuilder builder;
  mlir::Type element;
  int64_t mostPositions;
  llvm::SmallVector<std::string> layers; ///< their prefixes
};

/// Columns of a tensor of rows.
int64_t featuresOf(mlir::Value rows);

} // namespace hone
