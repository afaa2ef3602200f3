//===- Step.td - Ops that a training step adds ----------------------------===//
//
// Ops that only passes create and that belong to no op of a model: the gradient's
// sink, tiles of rows, pools, and the record of where memory is.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_STEP_TD
#define HONE_STEP_TD

include "dialects/Hone/ops/OpBase.td"

def Hone_GradientOp : Hone_Op<"gradient", [
    ParentOneOf<["BlockOp", "RowTilesOp"]>]> {
  let summary = "the sink of one parameter's gradient";
  let description = [{
    Adds `value` to the gradient of the trainable parameter `of` of the layer
    that runs this block. Derivations end here; the fate of gradients (an update
    at once, accumulation, clipping, a sum over ranks) is the business of a
    later pass alone.

    1. (C1) the shape of `value` is static.

    Example:
    ```mlir
    hone.block @sink() {
      %d = hone.input "d" : tensor<2x4xf32>
      hone.gradient %d of "q_proj.lora_A.weight" : tensor<2x4xf32>
      hone.return
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, StrAttr:$of);
  let assemblyFormat = "$value `of` $of attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Hone_RowTilesOp : Hone_Op<"row_tiles", [HasParent<"BlockOp">, SingleBlock,
    RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<Hone_CostOpInterface, ["getFlops"]>]> {
  let summary = "row-wise ops, run for one slice of rows after another";
  let description = [{
    Runs its body for rows `0` to `tile_rows - 1`, then for the next
    `tile_rows`, and so on, in order. With `hone.longest_sequence`, a number of
    rows, each slice is as many whole sequences as fit into `tile_rows`, and the
    last ones run first; so the body may have attention. The body's arguments are
    slices of the operands, or an operand itself that has no rows. It returns the
    same slices of the results, and `hone.gradient` adds each slice's
    contribution. So values inside the body exist for `tile_rows` rows at a
    time, however long the batch is.

    The body may read ambient values from outside. Every bit is that of the same
    ops without tiles (see `RowWise`).

    1. (C1) `tile_rows` is a positive multiple of `numerics::kGradientRows`.
    2. (C2) results have rows, and the body's arguments and returned values have
       the types of operands and results.
    3. (C3) ops of the body are `RowWise` or sinks; of whole sequences, (C5)
       instead. Ambient ops stand in the block itself.
    4. (C4) values that the body reads from outside are ambient.
    5. (C5) with `hone.longest_sequence`, `tile_rows` is a multiple of 128 and has
       room for a sequence that long, whichever row it starts in; the first operand
       says where sequences start; each result of each op of the body has rows
       that depend on rows of their sequence alone; and no op reads rows of the
       batch from outside.

    Example:
    ```mlir
    hone.block @mlp(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %up = hone.parameter "up_proj.weight" : tensor<64x4xf32>
      %down = hone.parameter "down_proj.weight" : tensor<4x64xf32>
      %y = hone.row_tiles 64 (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
      ^tile(%rows: tensor<?x4xf32>):
        %0 = hone.linear %rows, %up : (tensor<?x4xf32>, tensor<64x4xf32>) -> tensor<?x64xf32>
        %1 = hone.linear %0, %down : (tensor<?x64xf32>, tensor<4x64xf32>) -> tensor<?x4xf32>
        hone.return %1 : tensor<?x4xf32>
      }
      hone.return %y : tensor<?x4xf32>
    }
    hone.block @attention(%x: tensor<?x4xf32>, %s: tensor<?xi32>) -> tensor<?x4xf32> {
      %y = hone.row_tiles 384 (%s, %x) {hone.longest_sequence = 130} : (tensor<?xi32>, tensor<?x4xf32>) -> tensor<?x4xf32> {
      ^tile(%starts: tensor<?xi32>, %rows: tensor<?x4xf32>):
        %0 = hone.attention %rows, %rows, %rows, %starts heads 1 kv_heads 1 scale 0.5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
        hone.return %0 : tensor<?x4xf32>
      }
      hone.return %y : tensor<?x4xf32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$tile_rows,
                       Variadic<AnyRankedTensor>:$operands);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $tile_rows `(` $operands `)` attr-dict `:`
    functional-type($operands, $results) $body
  }];
  let hasRegionVerifier = 1;
}

def Hone_Pool : Type<
    And<[3DTensorOf<[Hone_ActivationFloat]>.predicate,
         CPred<"!::llvm::cast<::mlir::RankedTensorType>($_self).isDynamicDim(0)">,
         CPred<"!::llvm::cast<::mlir::RankedTensorType>($_self).isDynamicDim(2)">]>,
    "a known number of matrices with a known number of features",
    "::mlir::RankedTensorType">;

def Hone_PoolOp : Hone_Op<"pool", [ParentOneOf<["EntryOp"]>]> {
  let summary = "slots for values of as many layers as are selected";
  let description = [{
    Memory for the first dimension of its type many matrices, from here to the
    last read of one. The contents of a slot before the first `hone.keep` in it
    are undefined.

    1. (C1) there is a slot.

    Example:
    ```mlir
    hone.block @start() -> tensor<?x4xf32> {
      %x = hone.input "hidden" : tensor<?x4xf32>
      %y = hone.add %x, %x : tensor<?x4xf32>
      hone.return %y : tensor<?x4xf32>
    }
    hone.block @backward(%x: tensor<?x4xf32>) {
      hone.return
    }
    hone.entry @gradient(%mask: tensor<8xi32>, %slots: tensor<8xi32>) {
      %x = hone.call @start "" () : () -> tensor<?x4xf32>
      %pool = hone.pool : tensor<2x?x4xf32>
      hone.keep %x in %pool at %slots[3] when %mask[3] : tensor<2x?x4xf32>, tensor<8xi32>, tensor<8xi32>
      %k = hone.kept %pool at %slots[3] : tensor<2x?x4xf32>, tensor<8xi32>
      hone.call @backward "layers.3." (%k) when %mask[3] : tensor<8xi32> : (tensor<?x4xf32>) -> ()
    }
    ```
  }];
  let results = (outs Hone_Pool:$pool);
  let assemblyFormat = "attr-dict `:` type($pool)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of one slot of a pool.
    static ::mlir::Type slotType(::mlir::Type pool) {
      auto tensor = ::llvm::cast<::mlir::RankedTensorType>(pool);
      return ::mlir::RankedTensorType::get(tensor.getShape().drop_front(),
                                           tensor.getElementType());
    }
  }];
}

// Which slot is an element of `slots`, known when the entry runs. A number that
// is no slot means the last one: memory outside of the pool is never touched.
class Hone_SlotOp<string mnemonic, string value, list<Trait> traits = []>
    : Hone_Op<mnemonic, !listconcat(traits, [ParentOneOf<["EntryOp"]>,
        TypesMatchWith<"'" # value # "' has the type of a slot of 'pool'",
                       "pool", value,
                       "::hone::PoolOp::slotType($_self)">])> {
  let hasVerifier = 1;
}

def Hone_KeepOp : Hone_SlotOp<"keep", "x"> {
  let summary = "copies a value into a slot";
  let description = [{
    With `when`, only if that element of the mask is not zero. A slot number that
    is negative or too large means the last slot.

    1. (C1) `x` has the type of a slot.
    2. (C2) `slots` is an argument of the entry and has an element `slot_index`.
    3. (C3) so it is with `mask` and `mask_index`.
    4. (C4) `pool` is a `hone.pool` of the entry, which has an example: an entry
       only reads its arguments.
  }];
  let arguments = (ins AnyRankedTensor:$x, Hone_Pool:$pool,
                       Hone_OfLayers:$slots, I64Attr:$slot_index,
                       Optional<Hone_OfLayers>:$mask,
                       OptionalAttr<I64Attr>:$mask_index);
  let assemblyFormat = [{
    $x `in` $pool `at` $slots `[` $slot_index `]`
    (`when` $mask^ `[` $mask_index `]`)? attr-dict `:` type($pool) `,`
    type($slots) (`,` type($mask)^)?
  }];
}

def Hone_KeptOp : Hone_SlotOp<"kept", "x", [Hone_View]> {
  let summary = "the contents of a slot";
  let description = [{
    The memory of the slot, without a copy; `slots` as in `hone.keep`. A reader
    must be as conditional as the `hone.keep`.

    1. (C1) `x` has the type of a slot.
    2. (C2) `slots` is an argument of the entry and has an element `slot_index`.

    `hone.pool` has an example.
  }];
  let arguments = (ins Hone_Pool:$pool, Hone_OfLayers:$slots,
                       I64Attr:$slot_index);
  let results = (outs AnyRankedTensor:$x);
  let assemblyFormat = [{
    $pool `at` $slots `[` $slot_index `]` attr-dict `:` type($pool) `,`
    type($slots)
  }];
}

def Hone_LayerGradientOp : Hone_Op<"layer_gradient", [
    ParentOneOf<["EntryOp"]>]> {
  let summary = "the gradients of one layer, zero at first";
  let description = [{
    The slice of the gradient that belongs to the trainable parameters of the
    layer `prefix`, in memory of its own from here to its last use. Sinks of
    the calls after it add to it instead of to the gradient of all parameters.
    `hone-schedule-step` makes it where each layer is updated by itself.

    With `when`, only if the condition is not zero, and in the region
    `accumulation`; else it is that slice of the gradient of all parameters. So
    the batches of a step but the first have gradients that begin at zero, which
    `hone.fold_gradient` adds, and a step of one batch needs no memory for them.

    1. (C1) the length of `gradient` is static.

    Example:
    ```mlir
    hone.entry gradient @step() {
      %d = hone.layer_gradient "model.layers.0." : tensor<16xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$prefix, Optional<Hone_Integer>:$condition);
  let results = (outs Hone_Vector:$gradient);
  let assemblyFormat = "$prefix (`when` $condition^)? attr-dict `:` type($gradient)";
  let hasVerifier = 1;
}

def Hone_FoldGradientOp : Hone_Op<"fold_gradient", [
    ParentOneOf<["EntryOp"]>]> {
  let summary = "adds one batch's gradients of a layer to those before";
  let description = [{
    Ends the window of a conditional `hone.layer_gradient`: the gradient of all
    parameters becomes `gradient + window`, element by element. Does nothing if
    the condition is zero. Batches are folded in their order, each from zero: a
    sum that several machines can make with the same bits.

    1. (C1) `window` is the result of a conditional `hone.layer_gradient`.

    Example:
    ```mlir
    hone.entry gradient @gradient(%accumulates: tensor<i64>) {
      %d = hone.layer_gradient "model.layers.0." when %accumulates : tensor<16xf32>
      hone.fold_gradient %d : tensor<16xf32>
    }
    ```
  }];
  let arguments = (ins Hone_Vector:$window);
  let assemblyFormat = "$window attr-dict `:` type($window)";
  let hasVerifier = 1;
  let extraClassDeclaration = "LayerGradientOp getLayerGradient();";
}

def Hone_ElementOp : Hone_Op<"element", [ParentOneOf<["EntryOp"]>,
    Hone_View]> {
  let summary = "one of the numbers that an entry is given";
  let description = [{
    A layer's own, where an update takes one number of each layer.

    1. (C1) `numbers` is an argument of the entry and has an element `index`.

    Example:
    ```mlir
    hone.entry update @update(
        %g: tensor<f64>, %rates: tensor<8xf64>, %w: tensor<f64>) {
      %rate = hone.element %rates[3] : tensor<8xf64>
      hone.sgd %g, %rate, %w on ["model.layers.3."]
    }
    ```
  }];
  let arguments = (ins Hone_Numbers:$numbers, I64Attr:$index);
  let results = (outs Hone_Scalar:$number);
  let assemblyFormat = "$numbers `[` $index `]` attr-dict `:` type($numbers)";
  let hasVerifier = 1;
}

// Says something about the pages of the frozen parameters that a call reads.
class Hone_ResidencyOp<string mnemonic> : Hone_Op<mnemonic, [
    ParentOneOf<["EntryOp"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let arguments = (ins FlatSymbolRefAttr:$block, StrAttr:$prefix);
  let assemblyFormat = "$block $prefix attr-dict";
}

def Hone_PrefetchOp : Hone_ResidencyOp<"prefetch"> {
  let summary = "the frozen parameters of a layer are read soon";
  let description = [{
    Asks the system to read ahead the weights that `block` reads when it runs
    for the layer `prefix`. A hint: numbers do not depend on it.

    1. (C1) `block` names a `hone.block`.

    Example:
    ```mlir
    hone.block @layer() {
      hone.return
    }
    hone.entry @run() {
      hone.prefetch @layer "layers.1."
      hone.call @layer "layers.0." () : () -> ()
    }
    ```
  }];
}

def Hone_ReleaseOp : Hone_ResidencyOp<"release"> {
  let summary = "the frozen parameters of a layer are not read soon";
  let description = [{
    Lets the pages of the weights file go that `block` read for the layer
    `prefix`, so that they stop counting as resident. Reading them again is
    correct and maps them again.

    1. (C1) `block` names a `hone.block`.

    Example:
    ```mlir
    hone.block @layer() {
      hone.return
    }
    hone.entry @run() {
      hone.call @layer "layers.0." () : () -> ()
      hone.release @layer "layers.0."
    }
    ```
  }];
}

def Hone_RegionOp : Hone_Op<"region", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "a part of the arena that lives as long as the program";
  let description = [{
    Created by placement: the trainable parameters `theta`, their gradients,
    the optimizer's state, each named input of the first batch in flight, one
    layer's gradients of a batch that is folded (`accumulation`), and each
    `hone.cache` of each layer. Where layers are updated one by one, `gradient`
    stands after the arena, and so does `accumulation` where a spec does not
    accumulate: only a run that asks for them has memory for them. Regions there
    are elsewhere in placements for fewer rows: `fewer` has the offset in each.

    Of the optimizer's state, `of` says the type of the elements.

    1. (C1) `offset` is a multiple of 64 and `bytes` is not negative.

    Names are `theta`, `gradient`, those of the slots of the updates (`state0`,
    `state0.codes`), `accumulation`, `scalars`, `input.<name>` and
    `cache.<prefix><name>`.

    Example: `hone.region "theta" adapter at 0 bytes 4096`
  }];
  let arguments = (ins StrAttr:$name, Hone_MemoryClassAttr:$memory_class,
                       I64Attr:$offset, I64Attr:$bytes,
                       OptionalAttr<DenseI64ArrayAttr>:$fewer,
                       OptionalAttr<TypeAttr>:$element);
  let assemblyFormat = [{
    $name $memory_class `at` $offset `bytes` $bytes (`of` $element^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// See #hone.slot.
    int64_t offsetIn(unsigned placement);
  }];
  let hasVerifier = 1;
}

#endif // HONE_STEP_TD
