//===- ParameterTable.h - Every tensor of the model, by name --------------===//
//
// A block reads parameters by a name relative to the layer that runs it; this
// table resolves (prefix, name) to one tensor of the model. Frozen ones are
// found in the weights file, as one tensor or several (WeightStorage.h),
// numbered in order of first use; trainable ones are slices of one vector
// theta without gaps, layer after layer in order of first use, so that a layer
// is one slice too.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace hone {

struct Parameter {
  std::string name; ///< Hugging Face tensor name: prefix + relative name
  mlir::RankedTensorType type;
  bool trainable;
  Init init;           ///< trainable only
  StorageAttr storage; ///< null: as typed
  /// The index of its first stored tensor among the weights, or of the
  /// parameter among the trainable.
  int64_t index;
  /// Trainable only: which of the layers, and elements from the start of theta.
  int64_t layer = 0, offset = 0;
  /// The model's files hold it as [in, out].
  bool transposed = false;

  /// Trainable only: whether it starts as the weights file has it.
  bool isLoaded() const {
    return init == Init::Pretrained || init == Init::RowLengths;
  }
  /// Trainable only: whether LoRA+ has another rate for it (Hayou et al. 2024):
  /// B of adapters, which begins at zero, and vectors, as in PEFT's
  /// create_loraplus_optimizer.
  bool hasRateOfB() const { return init == Init::Zero || type.getRank() == 1; }
};

/// The trainable parameters that a layer's calls are the first to use.
struct TrainableLayer {
  std::string prefix;
  int64_t offset = 0, elements = 0; ///< its slice of theta
};

/// Trainable parameters that lie one after another.
struct ThetaSlice {
  int64_t offset, elements;
  llvm::ArrayRef<Parameter> parameters;
};

class ParameterTable {
public:
  /// Walks the calls of every entry in order. Fails with a diagnostic when one
  /// name is used with two types or storages, or both frozen and trainable,
  /// and when trainable ones differ in element type or storage.
  static mlir::FailureOr<ParameterTable> build(mlir::ModuleOp module);

  /// The tensor that `op` reads when a layer with `prefix` runs its block;
  /// null if no call of an entry has that prefix.
  const Parameter *find(llvm::StringRef prefix, llvm::StringRef name) const;

  llvm::ArrayRef<Parameter> frozen() const { return frozenList; }
  llvm::ArrayRef<Parameter> trainable() const { return trainableList; }
  /// Those in the model's files: the frozen ones, and those that train from
  /// there on.
  std::vector<Parameter> pretrained() const;
  /// Those in the weights file: the same, and those that are computed from
  /// them.
  std::vector<Parameter> loaded() const;
  llvm::ArrayRef<TrainableLayer> layers() const { return layerList; }
  /// The one of calls with `prefix`; null if nothing of it is trainable.
  const TrainableLayer *findLayer(llvm::StringRef prefix) const;
  /// The trainable ones of a layer, in the order of their offsets.
  llvm::ArrayRef<Parameter> ofLayer(int64_t layer) const;
  /// The slice of the layers with these prefixes; of all layers without
  /// prefixes. Layers that train nothing have nothing. None if others are
  /// between them, or one is there twice.
  std::optional<ThetaSlice> slice(mlir::ArrayAttr prefixes) const;
  /// Length of theta.
  int64_t trainableElements() const { return elements; }
  /// Bytes of a vector of that length; 0 for a null `element`.
  int64_t vectorBytes(mlir::Type element) const {
    return element ? elements * element.getIntOrFloatBitWidth() / 8 : 0;
  }
  /// Element type of theta as it is stored, and of gradients and optimizer
  /// state; null if nothing is trainable.
  mlir::Type thetaElement() const;
  mlir::Type gradientElement() const;
  /// Whether updates round parameters to a narrower type than gradients have.
  bool isRounded() const { return thetaElement() != gradientElement(); }

private:
  struct Ref {
    bool trainable;
    size_t index;
  };
  /// Orders the trainable parameters by layer and gives them their offsets.
  void layOutTheta();

  std::vector<Parameter> frozenList, trainableList;
  std::vector<TrainableLayer> layerList;
  llvm::StringMap<Ref> byName;
  int64_t elements = 0, weights = 0;
};

} // namespace hone
