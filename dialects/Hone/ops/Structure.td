//===- Structure.td - The ops that a model is written in ------------------===//
//
// Blocks, entries and calls, and the parameters and inputs that blocks read by
// name.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_STRUCTURE_TD
#define HONE_STRUCTURE_TD

include "dialects/Hone/ops/OpBase.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"

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
  let summary = "one part's computation in one phase";
  let description = [{
    A straight-line sequence of calls that a schedule runs as one item. Arguments
    and results are boundary values: hidden states and cotangents that cross
    between parts, and scalars. Their memory is the caller's, given with each run;
    values in between are the entry's working set. Inputs of the batch are read
    by blocks.

    `part` names the piece of the model (none: all of it); the phase is `forward`
    unless it is said: `tangent`, `gradient` (forward and backward in one),
    `backward`, `update`, or `vector`, if it reads whole vectors of parameters
    or gradients.

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
    Runs `block`; its parameter `p` is the Hugging Face tensor `prefix + p`.
    With `when`, only if that element of the mask is not zero; if it is zero,
    `else` runs instead, for the same layer and into the same results.

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
    The runtime writes it when a batch is loaded: `input_ids`, `targets`,
    `sequence_starts` (one 32-bit integer for each row), and `random_key`, with
    which the batch reads random streams: the seed, the step, and which batch of
    the step it is in place of a direction. All that reads a batch has its key,
    so a block that runs again draws the same numbers.

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

    1. (C1) it is a vector or a matrix, of a static shape with elements.
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

#endif // HONE_STRUCTURE_TD
