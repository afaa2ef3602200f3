//===- WeightWriter.h - The weights that the training binary maps ---------===//
//
// Streams the model's tensors into one safetensors file, as their parameters
// say that they are stored. No tensor is ever in memory as a whole.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/weights/WeightIndex.h"
#include "passes/module/ParameterTable.h"

namespace hone {

/// The error of quantisation in one tensor.
struct QuantizationError {
  std::string tensor;
  StorageAttr storage;
  double relative; ///< |w' - w| / |w|, Euclidean norms; 0 if w is 0
};

/// Bytes that are a tensor of the file by themselves.
struct WeightBlock {
  std::string name, bytes;
};

/// A tensor of the file that is made of a parameter.
struct StoredPart {
  rt::TensorSpec spec;
  const Parameter *parameter;
  unsigned kind; ///< numbers, scales, biases: the order of storedTensors()
};

/// All of them, in the order of `parameters`.
std::vector<StoredPart> storedParts(llvm::ArrayRef<Parameter> parameters);

struct WeightFile {
  llvm::ArrayRef<Parameter> parameters;
  std::string tokenizer; ///< the tensor hone.tokenizer; none if empty
  std::string chat;      ///< the tensor hone.chat; none if empty
  std::string sourceHash;
  std::vector<WeightBlock> more = {}; ///< see ModelBlocks.h
};

/// Writes `path` whole or not at all: every stored tensor of `file.parameters`
/// (WeightStorage.h) from `source`, whose tensors are floats, or packed as MLX
/// packs them and then taken as they are; magnitudes, which it does not have,
/// are the lengths of the rows of their modules' weights, as they are stored.
/// Metadata: format "hone", layout, source_hash. Appends to `errors`, unless it
/// is null, a line for each tensor that was quantised here. Errors: BadData for
/// a tensor that is missing or a value that cannot be quantised; CannotCreate,
/// IoError.
Status writeWeights(const std::string &path, const WeightFile &file,
                    const WeightIndex &source,
                    std::vector<QuantizationError> *errors);

/// A table of `errors` for a person.
std::string describeErrors(llvm::ArrayRef<QuantizationError> errors);

} // namespace hone
