//===- HoneModelOps.td - What a model computes ----------------------------===//
//
// Ops that importers create and people write by hand. Activations are
// tensor<?xNxT>: rows first, features last. Ops on bf16 compute in f32, in
// which sums, statistics and adapters are, and round each element of a result
// once.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_MODEL_OPS_TD
#define HONE_MODEL_OPS_TD

include "dialects/Hone/HoneDialect.td"
include "dialects/Hone/HoneInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class Hone_Op<string mnemonic, list<Trait> traits = []>
    : Op<Hone_Dialect, mnemonic, traits>;

// An op with all three: it takes part in every training method.
class Hone_DifferentiableOp<string mnemonic, list<Trait> traits = []>
    : Hone_Op<mnemonic, !listconcat(traits, [Pure,
        DeclareOpInterfaceMethods<Hone_AdjointOpInterface>,
        DeclareOpInterfaceMethods<Hone_TangentOpInterface>,
        DeclareOpInterfaceMethods<Hone_CostOpInterface, ["getFlops"]>])>;

def Hone_Float : AnyTypeOf<[F32, F64], "32- or 64-bit float">;
def Hone_ActivationFloat : AnyTypeOf<[BF16, F32, F64],
                                     "a float of 16 to 64 bits">;
// Only rows may be unknown: a kernel is compiled for its features.
def Hone_Matrix : Type<
    And<[2DTensorOf<[Hone_ActivationFloat]>.predicate,
         CPred<"!::llvm::cast<::mlir::RankedTensorType>($_self)"
               ".isDynamicDim(1)">]>,
    "2D tensor of floats of 16 to 64 bits with a known number of features",
    "::mlir::RankedTensorType">;
def Hone_Vector : 1DTensorOf<[Hone_Float]>;
def Hone_RowIndices : 1DTensorOf<[I32]>;
// What a schedule says of each layer: whether it runs, which slot it has. A
// schedule computes it before the entry that reads it begins.
def Hone_OfLayers : Type<
    And<[Hone_RowIndices.predicate, HasStaticShapePred]>,
    "a known number of 32-bit integers", "::mlir::RankedTensorType">;
def Hone_Numbers : Type<
    And<[1DTensorOf<[F64]>.predicate, HasStaticShapePred]>,
    "a known number of 64-bit floats", "::mlir::RankedTensorType">;
// The seed and the step of a RandomStream (runtime/src/base/Philox.h), each as
// its low and high half; purpose and name are what reads it for which tensor.
def Hone_RandomKey : Type<
    CPred<"$_self == ::mlir::RankedTensorType::get({4}, "
          "::mlir::IntegerType::get($_self.getContext(), 32))">,
    "tensor<4xi32>", "::mlir::RankedTensorType">,
  BuildableType<"::mlir::RankedTensorType::get({4}, "
                "$_builder.getI32Type())">;
// Of random directions, one for each: what a step writes down of them.
def Hone_Coefficients : Type<
    And<[1DTensorOf<[F32]>.predicate, HasStaticShapePred]>,
    "a known number of f32", "::mlir::RankedTensorType">;

def Hone_Integer : Type<
    CPred<"$_self == ::mlir::RankedTensorType::get({}, "
          "::mlir::IntegerType::get($_self.getContext(), 64))">,
    "tensor<i64>", "::mlir::RankedTensorType">,
  BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI64Type())">;
def Hone_Scalar : Type<
    CPred<"$_self == ::mlir::RankedTensorType::get({}, "
          "::mlir::Float64Type::get($_self.getContext()))">,
    "tensor<f64>", "::mlir::RankedTensorType">,
  BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getF64Type())">;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Hone_BlockOp : Hone_Op<"block", [FunctionOpInterface, IsolatedFromAbove,
                                     SingleBlock]> {
  let summary = "code for one kind of layer";
  let description = [{
    A function that is compiled once, however many layers run it. Values that
    differ between layers are its arguments, its results and the parameters
    that it reads by name.

    1. (C1) the region has one block, ended by `hone.return`.
    2. (C2) parameters of one name have one type and storage.

    Example:
    ```mlir
    hone.block @norm(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %w = hone.parameter "norm.weight" : tensor<64xf32>
      %y = hone.rms_norm %x, %w eps 1.0e-5 : (tensor<?x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
      hone.return %y : tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
                                 "::mlir::FunctionType":$type)>];
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
}

def Hone_ReturnOp : Hone_Op<"return", [Pure, Terminator,
    ParentOneOf<["BlockOp", "EntryOp", "RowTilesOp"]>]> {
  let summary = "the results of a block, an entry, or a tile of rows";
  let description = [{
    1. (C1) operand types are the result types of the enclosing block, entry or
       `hone.row_tiles`.
    2. (C2) an operand is no argument, input, parameter or view, nor an operand
       that stands before it: results are memory that the body writes.

    Example:
    ```mlir
    hone.block @twice(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %y = hone.add %x, %x : tensor<?x64xf32>
      hone.return %y : tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let builders = [OpBuilder<(ins), [{ (void)$_builder; (void)$_state; }]>];
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
  let hasVerifier = 1;
}

def Hone_EntryOp : Hone_Op<"entry", [FunctionOpInterface, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "what one part of the model does in one phase";
  let description = [{
    A straight-line sequence of calls that a schedule runs as one item. Arguments
    and results are boundary values: hidden states and cotangents that cross
    between parts, and scalars. Their memory is the caller's, given with each run;
    what lies between is the entry's working set. Inputs of the batch are read by
    blocks.

    `part` names the piece of the model (none: all of it); the phase is `forward`
    unless it is said: `tangent`, `gradient` (forward and backward in one),
    `backward`, `update`, or `vector` for what reads whole vectors of parameters or
    gradients.

    Example:
    ```mlir
    hone.block @embed() -> tensor<?x4xf32> {
      %ids = hone.input "input_ids" : tensor<?xi32>
      %t = hone.parameter "embed_tokens.weight" : tensor<9x4xf32>
      %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
      hone.return %x : tensor<?x4xf32>
    }
    hone.entry @hidden() -> tensor<?x4xf32> {
      %x = hone.call @embed "model." () : () -> tensor<?x4xf32>
      hone.return %x : tensor<?x4xf32>
    }
    hone.entry vector of "lower" @lower.zero() {
      hone.zero_gradient
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       DefaultValuedAttr<Hone_PhaseAttr,
                                         "::hone::Phase::Forward">:$phase,
                       OptionalAttr<StrAttr>:$part,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
                                 "::hone::Phase":$phase,
                                 CArg<"::mlir::TypeRange", "{}">:$inputs,
                                 CArg<"::mlir::TypeRange", "{}">:$results)>];
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Block &getBodyBlock() { return getBody().front(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let skipDefaultBuilders = 1;
}

def Hone_CallOp : Hone_Op<"call", [ParentOneOf<["EntryOp"]>,
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one layer runs one block";
  let description = [{
    Runs `block`; its parameter `p` is the Hugging Face tensor `prefix + p`. With
    `when`, only if that element of the mask is not zero; then `else` is what runs
    instead, for the same layer and into the same results.

    1. (C1) `block` names a `hone.block`.
    2. (C2) the types of values and results are the block's.
    3. (C3) so it is with `otherwise`, which is there only with a condition.
    4. (C4) a conditional call without `otherwise` has no results.
    5. (C5) `mask` is an argument of the entry and has an element `mask_index`.

    Example:
    ```mlir
    hone.block @twice(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %y = hone.add %x, %x : tensor<?x4xf32>
      hone.return %y : tensor<?x4xf32>
    }
    hone.block @start() -> tensor<?x4xf32> {
      %x = hone.input "hidden" : tensor<?x4xf32>
      %y = hone.add %x, %x : tensor<?x4xf32>
      hone.return %y : tensor<?x4xf32>
    }
    hone.entry @run() {
      %x = hone.call @start "" () : () -> tensor<?x4xf32>
      %y = hone.call @twice "layers.0." (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    }
    hone.block @same(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %y = hone.convert %x : tensor<?x4xf32> to tensor<?x4xf32>
      hone.return %y : tensor<?x4xf32>
    }
    hone.entry @run_some(%mask: tensor<2xi32>) {
      %x = hone.call @start "" () : () -> tensor<?x4xf32>
      %y = hone.call @twice "layers.0." (%x) when %mask[0] : tensor<2xi32> else @same : (tensor<?x4xf32>) -> tensor<?x4xf32>
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$block, StrAttr:$prefix,
                       Variadic<AnyRankedTensor>:$values,
                       Optional<Hone_OfLayers>:$mask,
                       OptionalAttr<I64Attr>:$mask_index,
                       OptionalAttr<FlatSymbolRefAttr>:$otherwise);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results,
                                 "::llvm::StringRef":$block,
                                 "::llvm::StringRef":$prefix,
                                 "::mlir::ValueRange":$values)>];
  let assemblyFormat = [{
    $block $prefix `(` $values `)`
    (`when` $mask^ `[` $mask_index `]` `:` type($mask))? (`else` $otherwise^)?
    attr-dict `:` functional-type($values, $results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The blocks that it may run: `block`, and `otherwise` if there is one.
    ::llvm::SmallVector<::mlir::FlatSymbolRefAttr, 2> getCallees();
  }];
}

def Hone_InputOp : Hone_Op<"input", [Pure, Hone_Ambient]> {
  let summary = "a named input of the batch";
  let description = [{
    What the runtime writes when a batch is loaded: `input_ids`, `targets`,
    `sequence_starts` (one 32-bit integer for each row), and `random_key`, with
    which the batch reads random streams: the seed, the step, and which batch of
    the step it is in place of a direction. All that reads a batch has its key,
    so whoever runs a block again draws the same numbers.

    1. (C1) it is not in an entry, whose values are its arguments.

    Example: `%ids = hone.input "input_ids" : tensor<?xi32>`
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr llvm::StringLiteral getRandomKeyName() {
      return "random_key";
    }
  }];
}

def Hone_ParameterOp : Hone_Op<"parameter", [Pure, Hone_Ambient]> {
  let summary = "a tensor of the model, by name";
  let description = [{
    The Hugging Face tensor whose name is the calling layer's prefix followed
    by `name`. Frozen unless `trainable`; then `init` says how it starts: as the
    matrices of a new adapter do, as the model has it (`pretrained`), or as the
    lengths of the rows of its module's weight (`row_lengths`). Ops read a parameter
    as its type says, however `stored` says that the weights file or the vector of
    trainable parameters holds it; absent, it is held as its type. Gradients have
    the type. With `transposed` the files of the model hold the
    matrix as `[in, out]`, and so do those that a run writes; the weights file and
    the vector of trainable parameters do not.

    1. (C1) the shape is static.
    2. (C2) `init` is present exactly when `trainable` is.
    3. (C3) `stored` belongs to a float tensor; for integers it is a frozen
       matrix whose columns are whole groups.
    4. (C4) `transposed` belongs to a matrix.
    5. (C5) `row_lengths` belongs to a vector.

    Example:
    ```mlir
    %w = hone.parameter "q_proj.weight" : tensor<8x4xf32>
    %t = hone.parameter "c_proj.weight" transposed : tensor<8x4xf32>
    %q = hone.parameter "k_proj.weight" stored <int4, group = 64> : tensor<8x128xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> stored <bfloat16> : tensor<8x2xf32>
    %n = hone.parameter "norm.weight" trainable init <pretrained> : tensor<4xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$trainable,
                       OptionalAttr<Hone_InitAttr>:$init,
                       OptionalAttr<Hone_StorageAttr>:$stored,
                       UnitAttr:$transposed);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $name (`trainable` $trainable^)? (`init` $init^)? (`stored` $stored^)?
    (`transposed` $transposed^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Hone_PerturbedOp : Hone_Op<"perturbed", [Pure, Hone_Ambient,
    DeclareOpInterfaceMethods<Hone_RandomOpInterface>,
    AllTypesMatch<["parameter", "result"]>]> {
  let summary = "a parameter, moved along a random direction";
  let description = [{
    `parameter + scale * z`, formed in the element type of `result` wherever an op
    reads it: no memory holds it, and the parameter stays as it is. Element `i` of
    `z` is standard normal: number `i` of the random stream of purpose Perturb and
    of the parameter's full name, whose seed, step and probe are in `key` (seed, then
    step, each as its low and high half; the probe is in the upper 11 bits of the
    last). `scale * z` is rounded once.

    1. (C1) `parameter` is the result of a trainable `hone.parameter`.
    2. (C2) `key` and `scale` are arguments of the block.

    Example:
    ```mlir
    hone.block @probe(%x: tensor<?x4xf32>, %key: tensor<4xi32>, %epsilon: tensor<f64>) -> tensor<?x8xf32> {
      %w = hone.parameter "w" : tensor<8x4xf32>
      %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
      %b = hone.parameter "b" trainable init <zero> : tensor<8x2xf32>
      %az = hone.perturbed %a by %key scale %epsilon : tensor<2x4xf32>
      %bz = hone.perturbed %b by %key scale %epsilon : tensor<8x2xf32>
      %y = hone.lora_linear %x, %w, %az, %bz scale 2.0 : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<?x8xf32>
      hone.return %y : tensor<?x8xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$parameter, Hone_RandomKey:$key,
                       Hone_Scalar:$scale);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $parameter `by` $key `scale` $scale attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Hone_DirectionOp : Hone_Op<"direction", [Pure, Hone_Ambient,
    DeclareOpInterfaceMethods<Hone_RandomOpInterface>,
    AllTypesMatch<["parameter", "result"]>]> {
  let summary = "the random direction of a parameter";
  let description = [{
    The `z` along which `hone.perturbed` moves `parameter`, or `scale * z`: a tangent
    that is a seed. Like that op it is in no memory, but formed where it is read.

    1. (C1) `parameter` is the result of a trainable `hone.parameter`.
    2. (C2) `key` and `scale` are arguments of the block.

    Example:
    ```mlir
    hone.block @tangent(%x: tensor<?x4xf32>, %key: tensor<4xi32>) -> tensor<?x8xf32> {
      %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
      %b = hone.parameter "b" trainable init <zero> : tensor<8x2xf32>
      %ta = hone.direction %a by %key : tensor<2x4xf32>
      %ty = hone.lora_parameter_tangent %x, %a, %b ta %ta scale 2.0 : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<?x8xf32>
      hone.return %ty : tensor<?x8xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$parameter, Hone_RandomKey:$key,
                       Optional<Hone_Scalar>:$scale);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $parameter `by` $key (`scale` $scale^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Model ops
//===----------------------------------------------------------------------===//

def Hone_EmbeddingOp : Hone_DifferentiableOp<"embedding", [
    Hone_PositionWise, Hone_StreamOpInterface]> {
  let summary = "rows of a table by token id";
  let description = [{
    `y[i, :] = scale * table[ids[i], :]`. With `streamed`, the resident pages of a
    row of the table go when it has been read; for a frozen table only.

    1. (C1) `ids` is `[rows]`, `table` is `[vocabulary, hidden]`, `y` is
       `[rows, hidden]`.
    2. (C2) the size of the vocabulary is known; ids are below it.

    Example:
    ```mlir
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed_tokens.weight" : tensor<9x4xf32>
    %y = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    %z = hone.embedding %ids, %t scale 2.0 : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Hone_RowIndices:$ids, Hone_Matrix:$table,
                       OptionalAttr<F64Attr>:$scale, UnitAttr:$streamed);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = "$ids `,` $table (`scale` $scale^)? (`streamed` $streamed^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = "int64_t getPieceRows() { return 1; }";
}

def Hone_EmbeddingNoiseOp : Hone_DifferentiableOp<"embedding_noise", [
    AllTypesMatch<["x", "y"]>, Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_RandomOpInterface>,
    DeclareOpInterfaceMethods<Hone_RegularizerOpInterface>]> {
  let summary = "uniform noise on embeddings";
  let description = [{
    `y = x + alpha / sqrt(L * d) * u`, where `L` is the length of the row's sequence
    and `d` that of the row (Jain et al. 2023, alg. 1). Element of `u` is
    `2^-23 * (w >> 8) - 1`, in `[-1, 1)`, where `w` are the 32 bits of row and column
    in the stream of purpose Noise and the name `of`, as in `lora_linear`. The
    derivative along `x` is the identity.

    1. (C1) `x` and `y` have one type `[rows, hidden]`.
    2. (C2) `starts` is `[rows]`.
    3. (C3) `alpha` is positive.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %key = hone.input "random_key" : tensor<4xi32>
    %y = hone.embedding_noise %x, %s alpha 5.0 of "embed_tokens" by %key : tensor<?x4xf32>, tensor<?xi32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_RowIndices:$starts,
                       Hone_RandomKey:$key, F64Attr:$alpha, StrAttr:$of);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = [{
    $x `,` $starts `alpha` $alpha `of` $of `by` $key attr-dict `:` type($x) `,`
    type($starts)
  }];
  let hasVerifier = 1;
}

def Hone_RmsNormOp : Hone_DifferentiableOp<"rms_norm", [
    Hone_RowWise, Hone_InPlaceOpInterface]> {
  let summary = "root-mean-square normalisation of each row, or of its heads";
  let description = [{
    `y = x / sqrt(mean(x^2) + eps) * (offset + weight)`, the mean over features
    (Zhang and Sennrich 2019, eq. 4). With `heads`, so is each of that many
    slices of the features, by itself and with one weight for all. The optional
    last result is `1/sqrt(mean(x^2)+eps)` of each row and head, which the
    adjoint can read instead of recomputing it.

    1. (C1) `x` and `y` have one type `[rows, heads * d]`; `weight` is `[d]`.
    2. (C2) `rstd`, if asked for, is `[rows, heads]` of the type that `x` is
       computed in.
    3. (C3) `eps` is not negative.
    4. (C4) `heads` is positive.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %w = hone.parameter "norm.weight" : tensor<4xf32>
    %y = hone.rms_norm %x, %w eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %q = hone.input "q" : tensor<?x8xf32>
    %z = hone.rms_norm %q, %w heads 2 offset 1.0 eps 1.0e-5 : (tensor<?x8xf32>, tensor<4xf32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Vector:$weight,
                       DefaultValuedAttr<I64Attr, "1">:$heads,
                       DefaultValuedAttr<F64Attr, "0.0">:$offset, F64Attr:$eps);
  let results = (outs Hone_Matrix:$y, Optional<Hone_Matrix>:$rstd);
  let assemblyFormat = [{
    $x `,` $weight (`heads` $heads^)? (`offset` $offset^)? `eps` $eps attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::Type getAuxiliaryType();";
}

def Hone_LinearOp : Hone_DifferentiableOp<"linear", [
    Hone_RowWise, Hone_TakesEpilogue]> {
  let summary = "linear projection";
  let description = [{
    `y = x W^T + bias`.

    1. (C1) `x` is `[rows, in]`, `weight` is `[out, in]`, `y` is `[rows, out]`.
    2. (C2) `bias`, if present, is `[out]`.
    3. (C3) `x` and `y` have one element type; `weight` and `bias` are converted
       to the type that it is computed in.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %w = hone.parameter "q_proj.weight" : tensor<8x4xf32>
    %b = hone.parameter "q_proj.bias" : tensor<8xf32>
    %y = hone.linear %x, %w bias %b : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Matrix:$weight,
                       Optional<Hone_Vector>:$bias);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = "$x `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hone_LoraLinearOp : Hone_DifferentiableOp<"lora_linear", [
    Hone_RowWise, AttrSizedOperandSegments, Hone_TakesEpilogue,
    DeclareOpInterfaceMethods<Hone_RandomOpInterface>,
    DeclareOpInterfaceMethods<Hone_RegularizerOpInterface>,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "linear projection plus a scaled low-rank update";
  let description = [{
    `y = x W^T + h B^T + bias` with `h = scale * x A^T` (Hu et al. 2021, eq. 3,
    with PEFT's layout of A and B). The weight is frozen: there is no rule for a
    gradient of it. The optional last result is `h`; MeSP recomputes it,
    `store-h` keeps it.

    With `dropout`, `h = scale * (m x) A^T`, as PEFT has it: what the weight reads
    is whole (Srivastava et al. 2014, scaled in training). `m` is `1 / (1 - p)`, or
    0 for the elements whose 32 random bits are below `p 2^32`: those of row and
    column in the stream of purpose Dropout and the name `of` behind the layer's
    prefix, `RandomStream::word`. The row is that of the batch. No memory holds
    `m`: each reader of it draws it again.

    1. (C1) `x` is `[rows, in]`, `weight` is `[out, in]`, `y` is `[rows, out]`.
    2. (C2) `a` is `[rank, in]`, `b` is `[out, rank]`, of one rank.
    3. (C3) `bias`, if present, is `[out]`.
    4. (C4) `h`, if asked for, is `[rows, rank]`.
    5. (C5) `x` and `y` have one element type; `a`, `b` and `h` have the type
       that it is computed in, and `weight` and `bias` are converted to it.
    6. (C6) `dropout` is above 0 and below 1; with it come `of` and `key`.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %w = hone.parameter "q_proj.weight" : tensor<8x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<8x2xf32>
    %y = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<?x8xf32>
    %key = hone.input "random_key" : tensor<4xi32>
    %z = hone.lora_linear %x, %w, %a, %b scale 2.0 dropout 0.1 of "q_proj" by %key : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<4xi32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Matrix:$weight, Hone_Matrix:$a,
                       Hone_Matrix:$b, Optional<Hone_Vector>:$bias,
                       Optional<Hone_RandomKey>:$key, F64Attr:$scale,
                       OptionalAttr<F64Attr>:$dropout,
                       OptionalAttr<StrAttr>:$of);
  let results = (outs Hone_Matrix:$y, Optional<Hone_Matrix>:$h);
  let assemblyFormat = [{
    $x `,` $weight `,` $a `,` $b (`bias` $bias^)? `scale` $scale
    (`dropout` $dropout^ `of` $of `by` $key)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::Type getAuxiliaryType();";
}

def Hone_RopeOp : Hone_DifferentiableOp<"rope", [
    Hone_PositionWise, Hone_InPlaceOpInterface]> {
  let summary = "rotary position embedding";
  let description = [{
    Rotates the pairs `(j, j + d/2)` of each head of size `d` by the angle
    `p * f[j]`, where `p = row - starts[row]` is the position in the sequence
    and `f[j] = theta^(-2j/d)`, divided by `stretch` and changed by `scaling` if
    present (Su et al. 2021, eq. 34, in Hugging Face's split-half order; Chen et
    al. 2023 for `stretch`). `inverse` rotates back, which is the adjoint.

    1. (C1) `x` and `y` have one type `[rows, heads * d]`, `d` even.
    2. (C2) `starts` is `[rows]`.
    3. (C3) `theta` is positive, and `stretch` if present.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x8xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %y = hone.rope %x, %s heads 2 theta 1.0e4 : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_RowIndices:$starts,
                       I64Attr:$heads, F64Attr:$theta,
                       OptionalAttr<F64Attr>:$stretch,
                       OptionalAttr<Hone_Llama3RopeScalingAttr>:$scaling,
                       UnitAttr:$inverse);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = [{
    $x `,` $starts `heads` $heads `theta` $theta (`stretch` $stretch^)?
    (`scaling` $scaling^)? (`inverse` $inverse^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getHeadDim() {
      return ::llvm::cast<::mlir::RankedTensorType>(getX().getType())
                 .getDimSize(1) / static_cast<int64_t>(getHeads());
    }
    /// The d/2 rotation frequencies, after scaling, in radians per position.
    ::llvm::SmallVector<double> getFrequencies();
  }];
}

def Hone_AttentionOp : Hone_DifferentiableOp<"attention", [
    DeclareOpInterfaceMethods<Hone_ContinuationOpInterface>,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "causal grouped-query attention";
  let description = [{
    For each head `h` and row `i`, with keys `j` from `starts[i]` to `i`, of
    which a `window` sees the last, the row itself among them (Beltagy et al.
    2020): `y_i = sum_j softmax_j(scale * q_i . k_j) v_j`. Head `h` reads the
    key and value head `h / (heads / kv_heads)` (Ainslie et al. 2023). The optional
    last result holds, for each row and head `h`, the largest score `m` in
    column `2h` and `1 / sum_j exp(s_j - m)` in column `2h + 1`. From the two
    the adjoint recomputes the forward's probabilities to the bit. (Dao 2023,
    alg. 2, keeps their log-sum-exp instead, which rounds a score of 300 by
    1.5e-5, and every probability of the row with it.)

    1. (C1) `q` and `y` have one type `[rows, heads * d]`; `k` and `v` have one
       type `[rows, kv_heads * d]`.
    2. (C2) `kv_heads` divides `heads`.
    3. (C3) `starts` is `[rows]`.
    4. (C4) `normalizer`, if asked for, is `[rows, 2 * heads]`.
    5. (C5) `q` and `k` have one element type, `normalizer` the type that it is
       computed in.
    6. (C6) `window`, if given, is positive.

    Example:
    ```mlir
    %q = hone.input "q" : tensor<?x8xf32>
    %k = hone.input "k" : tensor<?x4xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %y = hone.attention %q, %k, %k, %s heads 2 kv_heads 1 scale 0.5 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x8xf32>
    %z = hone.attention %q, %k, %k, %s heads 2 kv_heads 1 window 16 scale 0.5 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$q, Hone_Matrix:$k, Hone_Matrix:$v,
                       Hone_RowIndices:$starts, I64Attr:$heads,
                       I64Attr:$kv_heads, OptionalAttr<I64Attr>:$window,
                       F64Attr:$scale);
  let results = (outs Hone_Matrix:$y, Optional<Hone_Matrix>:$normalizer);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $starts `heads` $heads `kv_heads` $kv_heads
    (`window` $window^)? `scale` $scale attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::Type getAuxiliaryType();";
}

def Hone_GatedActivationOp : Hone_DifferentiableOp<"gated_activation", [
    SameOperandsAndResultType, Hone_RowWise, Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>]> {
  let summary = "activation(gate) * up";
  let description = [{
    `y = f(gate) * up` (Shazeer 2020, eqs. 5 and 6, without the projections, which
    are ops of their own), where `f` is

      * `relu`: `max(x, 0)`;
      * `gelu`: `x * 0.5 * (1 + erf(x / sqrt(2)))`;
      * `gelu_tanh`: `x * 0.5 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))`;
      * `silu`: `x / (1 + exp(-x))`.

    1. (C1) all operands and the result have one type.

    Example:
    ```mlir
    %g = hone.input "gate" : tensor<?x8xf32>
    %u = hone.input "up" : tensor<?x8xf32>
    %y = hone.gated_activation silu %g, %u : tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_ActivationAttr:$activation, Hone_Matrix:$gate,
                       Hone_Matrix:$up);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = "$activation $gate `,` $up attr-dict `:` type($y)";
}

def Hone_AddOp : Hone_DifferentiableOp<"add", [SameOperandsAndResultType,
    Commutative, Hone_RowWise, Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>]> {
  let summary = "element-wise sum: residual connections, and fan-out in reverse";
  let description = [{
    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x8xf32>
    %y = hone.add %x, %x : tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$lhs, Hone_Matrix:$rhs);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($y)";
}

def Hone_LinearCrossEntropyOp : Hone_DifferentiableOp<"linear_cross_entropy", [
    Hone_StreamOpInterface,
    DeclareOpInterfaceMethods<Hone_RegularizerOpInterface>,
    DeclareOpInterfaceMethods<Hone_ContinuationOpInterface>,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "output head and summed cross-entropy, without the logits";
  let description = [{
    `loss = sum_i -log softmax(x_i W^T)[targets[i]]` over the rows whose target
    is not -100; other rows cost nothing. With `smoothing`, labels are smoothed
    (Szegedy et al. 2016, sec. 7): with `e` of it and `V` words, `(1 - e)` of a
    row's loss and `e / V sum_v -log softmax(x_i W^T)[v]`. The optional last result is
    `d(loss)/d(x)`, which the same pass over the logits can write, so that the
    logits exist for one tile of the vocabulary at a time and once. With
    `streamed`, so do the resident pages of the head; for a frozen one only.

    1. (C1) `x` is `[rows, hidden]`, `weight` is `[vocabulary, hidden]`.
    2. (C2) `targets` is `[rows]`.
    3. (C3) `dx`, if asked for, has the type of `x`.
    4. (C4) the size of the vocabulary is known; targets are below it.
    5. (C5) `smoothing`, if given, is above 0 and below 1.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %loss = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    %smoothed = hone.linear_cross_entropy %x, %w, %t smoothing 0.1 : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Matrix:$weight,
                       Hone_RowIndices:$targets, OptionalAttr<F64Attr>:$smoothing,
                       UnitAttr:$streamed);
  let results = (outs Hone_Scalar:$loss, Optional<Hone_Matrix>:$dx);
  let assemblyFormat = [{
    $x `,` $weight `,` $targets (`smoothing` $smoothing^)?
    (`streamed` $streamed^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Type getAuxiliaryType();
    int64_t getPieceRows() { return numerics::kLossColumns; }
    /// Whether `dx` is narrower than its sums, which then are workspace.
    bool sumsApart() {
      return getDx() && computeType(getDx().getType()) != getDx().getType();
    }
  }];
}

#endif // HONE_MODEL_OPS_TD
