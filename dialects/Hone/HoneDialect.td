//===- HoneDialect.td - The dialect, its attributes and enums -------------===//
//
// One dialect holds both the ops of a model and those that a training step
// adds, because both obey the same rules: pure ops on tensors whose one dynamic
// dimension is the row count. Ops on memory live in the tile dialect.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_DIALECT_TD
#define HONE_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Hone_Dialect : Dialect {
  let name = "hone";
  let cppNamespace = "::hone";
  let summary = "training steps of decoder models";
  let description = [{
    A module holds `hone.block`s, each compiled once; `hone.entry`s, sequences of
    `hone.call`s that say which layer runs which block with which parameters, so
    that depth is a matter of entries alone; and `hone.schedule`s, the items of a
    step: which entries run, on which batch, with which numbers.

    Rows are tokens. A batch is its sequences one after another, without
    padding; the input `sequence_starts` holds, for each row, the row where its
    sequence begins. The row count is the only dynamic dimension (`?`) and is
    at most the module's `hone.max_rows`. A layer is the calls with one prefix;
    `hone.layers` has these prefixes by the number that people and files give
    their layers.

    ```mlir
    module attributes {hone.max_rows = 256 : i64, hone.layers = ["model.layers.0."]} {
      hone.block @decoder(%x: tensor<?x64xf32>) -> tensor<?x64xf32> { ... }
      hone.entry @loss() -> tensor<f64> {
        %0 = hone.call @embed "model." () : () -> tensor<?x64xf32>
        %1 = hone.call @decoder "model.layers.0." (%0) : (tensor<?x64xf32>) -> tensor<?x64xf32>
        ...
      }
      hone.schedule evaluate {
        %batch = hone.load
        %loss = hone.run @loss() on %batch : () -> tensor<f64>
        hone.report %loss as "loss" : tensor<f64>
      }
    }
    ```
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Module attribute: the most rows that a batch may have.
    static constexpr llvm::StringLiteral getMaxRowsAttrName() {
      return "hone.max_rows";
    }
    /// Module attribute, set by placement: the rows of its further placements,
    /// fewer from one to the next. Absent: everything is placed for
    /// hone.max_rows alone.
    static constexpr llvm::StringLiteral getFewerRowsAttrName() {
      return "hone.fewer_rows";
    }
    /// Module attribute: the training methods, as passes/methods/StepSettings.h
    /// has them.
    static constexpr llvm::StringLiteral getMethodAttrName() {
      return "hone.method";
    }
    /// Module attribute: rows that a sequence may have; absent: all of a batch.
    static constexpr llvm::StringLiteral getMaxPositionsAttrName() {
      return "hone.max_positions";
    }
    /// Module attribute: the prefixes of the model's layers, in the order of
    /// their numbers, which count from 0. Absent: those of the calls of the
    /// loss that read another's result, but for the one that makes the loss.
    static constexpr llvm::StringLiteral getLayersAttrName() {
      return "hone.layers";
    }
    /// Module attribute, unit: products of f32 with weights and in attention
    /// round both operands to bfloat16.
    static constexpr llvm::StringLiteral getRoundedProductsAttrName() {
      return "hone.rounded_products";
    }
    /// Module attribute, unit: sums of products may have any order, see
    /// `tile.product`.
    static constexpr llvm::StringLiteral getAnyOrderProductsAttrName() {
      return "hone.any_order_products";
    }
    /// Module attribute, set by placement: bytes of the one arena.
    static constexpr llvm::StringLiteral getArenaBytesAttrName() {
      return "hone.arena_bytes";
    }
    /// The same with each of hone.fewer_rows.
    static constexpr llvm::StringLiteral getFewerArenaBytesAttrName() {
      return "hone.fewer_arena_bytes";
    }
    /// Op attribute, set by placement: for each result its #hone.slot, a
    /// #hone.result_slot, or unit if it is itself a result of the block.
    static constexpr llvm::StringLiteral getSlotsAttrName() {
      return "hone.slots";
    }
    /// Op attribute, set by placement: one #hone.slot for each buffer of the
    /// op's workspace.
    static constexpr llvm::StringLiteral getWorkspaceAttrName() {
      return "hone.workspace";
    }
    /// Attribute of a call or of row tiles, set by placement: where the scratch
    /// of the body is.
    static constexpr llvm::StringLiteral getScratchAttrName() {
      return "hone.scratch";
    }
    /// Attribute of a block or an entry, set by placement: bytes of scratch it
    /// needs; an entry's is the working set of a call of it.
    static constexpr llvm::StringLiteral getScratchBytesAttrName() {
      return "hone.scratch_bytes";
    }
    /// The same with each of hone.fewer_rows.
    static constexpr llvm::StringLiteral getFewerScratchBytesAttrName() {
      return "hone.fewer_scratch_bytes";
    }
  }];
}

class Hone_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Hone_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Hone_SlotAttr : Hone_Attr<"Slot", "slot"> {
  let summary = "a place in memory and the time it is used";
  let description = [{
    `bytes` bytes at `offset`, in use from the op at position `first` to the op
    at position `last` of the enclosing body, both included. Offsets count from
    the scratch of a block, from the working set of an entry, and from the arena
    in a schedule. `count` slots of `bytes` bytes lie one after the other where
    iterations of a repeat hold a value at once: iteration `i` has slot
    `i mod count`. `fewer` has offset and bytes for each of the module's
    `hone.fewer_rows`.

    Example: `#hone.slot<offset = 4096, bytes = 1024, first = 2, last = 5>`
  }];
  let parameters = (ins "int64_t":$offset, "int64_t":$bytes, "int64_t":$first,
                        "int64_t":$last,
                        DefaultValuedParameter<"int64_t", "1">:$count,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$fewer);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// In placement `placement`: 0 is that for hone.max_rows, the others are
    /// those of hone.fewer_rows. A slot without `fewer` is in all of them the
    /// same.
    int64_t offsetIn(unsigned placement) const;
    int64_t bytesIn(unsigned placement) const;
  }];
}

def Hone_ResultSlotAttr : Hone_Attr<"ResultSlot", "result_slot"> {
  let summary = "a place in the memory of a block's result";
  let description = [{
    Stands for a slot in `hone.slots`: the value is in the memory of the block's
    result `result`, which its caller gives, until that result takes its place.

    Example: `#hone.result_slot<0>`
  }];
  let parameters = (ins "int64_t":$result);
  let assemblyFormat = "`<` $result `>`";
}

def Hone_Llama3RopeScalingAttr
    : Hone_Attr<"Llama3RopeScaling", "llama3_rope_scaling"> {
  let summary = "the `llama3` scaling of rotary frequencies";
  let description = [{
    Wavelengths above `original_max_position_embeddings / low_freq_factor` are
    stretched by `factor`, those below `original_max_position_embeddings /
    high_freq_factor` are kept, and between them the two are blended linearly.

    1. (C1) The factors are `f64`, finite and positive.
    2. (C2) `low_freq_factor` is below `high_freq_factor`.
    3. (C3) `original_max_position_embeddings` is positive.

    Example:
    `#hone.llama3_rope_scaling<factor = 32.0 : f64, low_freq_factor = 1.0 : f64, high_freq_factor = 4.0 : f64, original_max_position_embeddings = 8192>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$factor,
                        "::mlir::FloatAttr":$low_freq_factor,
                        "::mlir::FloatAttr":$high_freq_factor,
                        "int64_t":$original_max_position_embeddings);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Hone_Init : I32EnumAttr<"Init", "how a trainable parameter starts", [
  I32EnumAttrCase<"Zero", 0, "zero">,
  I32EnumAttrCase<"KaimingUniform", 1, "kaiming_uniform">,
  I32EnumAttrCase<"Pretrained", 2, "pretrained">,
  I32EnumAttrCase<"RowLengths", 3, "row_lengths">]> {
  let cppNamespace = "::hone";
  let genSpecializedAttr = 0;
}
def Hone_InitAttr : EnumAttr<Hone_Dialect, Hone_Init, "init"> {
  let assemblyFormat = "`<` $value `>`";
}

def Hone_StoredType : I32EnumAttr<"StoredType", "numbers of a frozen tensor", [
  I32EnumAttrCase<"BFloat16", 0, "bfloat16">,
  I32EnumAttrCase<"Int8", 1, "int8">,
  I32EnumAttrCase<"Int4", 2, "int4">]> {
  let cppNamespace = "::hone";
  let genSpecializedAttr = 0;
}

def Hone_StorageAttr : Hone_Attr<"Storage", "storage"> {
  let summary = "how the weights file holds a frozen tensor";
  let description = [{
    A parameter's type is that of computations; this is its form in the file.
    `bfloat16` is one tensor. `int8` and `int4` are MLX's affine groups, three
    tensors: each run of `group` neighbours in a row of a matrix shares a scale
    and a bias, and a weight is `scale * q + bias`, rounded once.

      * `NAME`, bytes `[out, in * bits / 8]`: `q`, the low half of a byte first;
      * `NAME.scales` and `NAME.biases`, float32 `[out, in / group]`: exact for
        any float type they are made in, at 64 / group bits a weight.

    1. (C1) `group` is 32, 64 or 128 for integers, absent for `bfloat16`.

    Example: `#hone.storage<int4, group = 64>`
  }];
  let parameters = (ins EnumParameter<Hone_StoredType>:$type,
                        DefaultValuedParameter<"int64_t", "0">:$group);
  let assemblyFormat = "`<` $type (`,` `group` `=` $group^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bits of one number.
    int64_t getBits() const;
    bool isGrouped() const { return getType() != StoredType::BFloat16; }
  }];
}

def Hone_Activation : I32EnumAttr<"Activation", "an activation function", [
  I32EnumAttrCase<"Relu", 0, "relu">,
  I32EnumAttrCase<"Gelu", 1, "gelu">,
  I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">,
  I32EnumAttrCase<"Silu", 3, "silu">]> {
  let cppNamespace = "::hone";
  let genSpecializedAttr = 0;
}
def Hone_ActivationAttr
    : EnumAttr<Hone_Dialect, Hone_Activation, "activation">;

def Hone_Phase : I32EnumAttr<"Phase", "an entry's computation for its part", [
  I32EnumAttrCase<"Forward", 0, "forward">,
  I32EnumAttrCase<"Tangent", 1, "tangent">,
  I32EnumAttrCase<"Gradient", 2, "gradient">,
  I32EnumAttrCase<"Backward", 3, "backward">,
  I32EnumAttrCase<"Update", 4, "update">,
  I32EnumAttrCase<"Vector", 5, "vector">]> {
  let cppNamespace = "::hone";
  let genSpecializedAttr = 0;
}
def Hone_PhaseAttr : EnumAttr<Hone_Dialect, Hone_Phase, "phase">;

def Hone_Purpose : I32EnumAttr<"Purpose", "the purpose of a schedule", [
  I32EnumAttrCase<"Train", 0, "train">,
  I32EnumAttrCase<"Evaluate", 1, "evaluate">,
  I32EnumAttrCase<"Differentiate", 2, "differentiate">,
  I32EnumAttrCase<"Validate", 3, "validate">,
  I32EnumAttrCase<"Replay", 4, "replay">,
  I32EnumAttrCase<"Compare", 5, "compare">,
  I32EnumAttrCase<"Generate", 6, "generate">]> {
  let cppNamespace = "::hone";
  let genSpecializedAttr = 0;
}
def Hone_PurposeAttr : EnumAttr<Hone_Dialect, Hone_Purpose, "purpose">;

class Hone_Type<string name, string typeMnemonic>
    : TypeDef<Hone_Dialect, name> {
  let mnemonic = typeMnemonic;
}
def Hone_BatchType : Hone_Type<"Batch", "batch"> {
  let summary = "the inputs of one batch, and how many rows it has";
}

def Hone_MemoryClass : I32EnumAttr<"MemoryClass", "a row of the plan table", [
  I32EnumAttrCase<"Adapter", 0, "adapter">,
  I32EnumAttrCase<"Gradient", 1, "gradient">,
  I32EnumAttrCase<"Optimizer", 2, "optimizer">,
  I32EnumAttrCase<"Batch", 3, "batch">,
  I32EnumAttrCase<"Kept", 4, "kept">,
  I32EnumAttrCase<"Working", 5, "working">,
  I32EnumAttrCase<"Accumulation", 6, "accumulation">,
  I32EnumAttrCase<"Comparison", 7, "comparison">,
  I32EnumAttrCase<"Cache", 8, "cache">]> {
  let cppNamespace = "::hone";
  let genSpecializedAttr = 0;
}
def Hone_MemoryClassAttr
    : EnumAttr<Hone_Dialect, Hone_MemoryClass, "memory_class">;

#endif // HONE_DIALECT_TD
