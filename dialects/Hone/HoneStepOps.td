//===- HoneStepOps.td - What a training step adds -------------------------===//
//
// Ops that only passes create: adjoints, the gradient sink, updates, and the
// record of where memory is; tangents are in HoneTangentOps.td. An adjoint op is
// named after the op whose adjoint it is; the formula in its description is the
// one that the tests check.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_STEP_OPS_TD
#define HONE_STEP_OPS_TD

include "dialects/Hone/HoneModelOps.td"

// An op that derivations create to compute.
class Hone_DerivedOp<string mnemonic, list<Trait> traits = []>
    : Hone_Op<mnemonic, !listconcat(traits, [Pure,
        DeclareOpInterfaceMethods<Hone_CostOpInterface, ["getFlops"]>])>;

def Hone_ScaleOp : Hone_DerivedOp<"scale", [Hone_RowWise,
    Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>,
    DeclareOpInterfaceMethods<Hone_TangentOpInterface>]> {
  let summary = "every element times one scalar";
  let description = [{
    1. (C1) `x` and `y` have one type.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %s = hone.input "loss_scale" : tensor<f64>
    %y = hone.scale %x, %s : (tensor<?x4xf32>, tensor<f64>) -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Scalar:$factor);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = "$x `,` $factor attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hone_ConvertOp : Hone_DerivedOp<"convert", [Hone_RowWise,
    Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>]> {
  let summary = "each element in another float type, rounded to nearest even";
  let description = [{
    How a value is kept in half of its memory from forward to backward: rounded
    behind what makes it and converted back before what reads it. Of the options
    of a plan it is the only one that changes gradients. From a type to itself it
    is the identity: what stands in for a block that is skipped.

    1. (C1) `x` and `y` have one shape.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.convert %x : tensor<?x4xf32> to tensor<?x4xbf16>
    ```
  }];
  let arguments = (ins 2DTensorOf<[Hone_ActivationFloat]>:$x);
  let results = (outs 2DTensorOf<[Hone_ActivationFloat]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

def Hone_RmsNormAdjointOp : Hone_DerivedOp<"rms_norm_adjoint", [
    Hone_RowWise, Hone_InPlaceOpInterface]> {
  let summary = "adjoint of rms_norm with respect to its input";
  let description = [{
    With `r = 1/sqrt(mean(x^2)+eps)` and `g = dy * (offset + weight)`, in each
    head: `dx = r * (g - x * r^2 * mean(g * x))`.

    1. (C1) `dy`, `x` and `dx` have one type `[rows, heads * d]`; `weight` is
       `[d]`.
    2. (C2) `rstd`, if present, is `[rows, heads]` of the type that `x` is
       computed in.
    3. (C3) `heads` is positive.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x4xf32>
    %x = hone.input "hidden" : tensor<?x4xf32>
    %w = hone.parameter "norm.weight" : tensor<4xf32>
    %dx = hone.rms_norm_adjoint %dy, %x, %w eps 1.0e-5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, Hone_Matrix:$x, Hone_Vector:$weight,
                       Optional<Hone_Matrix>:$rstd,
                       DefaultValuedAttr<I64Attr, "1">:$heads,
                       DefaultValuedAttr<F64Attr, "0.0">:$offset, F64Attr:$eps);
  let results = (outs Hone_Matrix:$dx);
  let assemblyFormat = [{
    $dy `,` $x `,` $weight (`rstd` $rstd^)? (`heads` $heads^)?
    (`offset` $offset^)? `eps` $eps attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Hone_LinearAdjointOp : Hone_DerivedOp<"linear_adjoint", [
    Hone_RowWise, Hone_TakesEpilogue]> {
  let summary = "adjoint of linear with respect to its input";
  let description = [{
    `dx = dy W`.

    1. (C1) `dy` is `[rows, out]`, `weight` is `[out, in]`, `dx` is
       `[rows, in]`.
    2. (C2) `dy` and `dx` have one element type; `weight` is converted to the
       type that it is computed in.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x8xf32>
    %w = hone.parameter "q_proj.weight" : tensor<8x4xf32>
    %dx = hone.linear_adjoint %dy, %w : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, Hone_Matrix:$weight);
  let results = (outs Hone_Matrix:$dx);
  let assemblyFormat = "$dy `,` $weight attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hone_LoraLinearAdjointOp : Hone_DerivedOp<"lora_linear_adjoint", [
    Hone_RowWise, Hone_TakesEpilogue,
    DeclareOpInterfaceMethods<Hone_RandomOpInterface>,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "adjoint of lora_linear with respect to its input";
  let description = [{
    `dx = dy W + m ((scale * dy B) A)`, where `m` is that of `lora_linear` with this
    `dropout`, or 1.

    1. (C1) `dy` is `[rows, out]`, `weight` is `[out, in]`, `dx` is
       `[rows, in]`.
    2. (C2) `a` is `[rank, in]`, `b` is `[out, rank]`.
    3. (C3) `dy` and `dx` have one element type; `a` and `b` have the type that
       it is computed in, and `weight` is converted to it.
    4. (C4) `dropout` is above 0 and below 1; with it come `of` and `key`.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x8xf32>
    %w = hone.parameter "w" : tensor<8x4xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<8x2xf32>
    %dx = hone.lora_linear_adjoint %dy, %w, %a, %b scale 2.0 : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, Hone_Matrix:$weight, Hone_Matrix:$a,
                       Hone_Matrix:$b, Optional<Hone_RandomKey>:$key,
                       F64Attr:$scale, OptionalAttr<F64Attr>:$dropout,
                       OptionalAttr<StrAttr>:$of);
  let results = (outs Hone_Matrix:$dx);
  let assemblyFormat = [{
    $dy `,` $weight `,` $a `,` $b `scale` $scale
    (`dropout` $dropout^ `of` $of `by` $key)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Hone_LoraParameterAdjointOp : Hone_DerivedOp<"lora_parameter_adjoint", [
    Hone_RowWise, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Hone_RandomOpInterface>,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "adjoint of lora_linear with respect to A and B";
  let description = [{
    With `h = scale * x A^T`, read if kept and recomputed if not:
    `da = (scale * dy B)^T x` and `db = dy^T h`
    (MeSP, eqs. 2 and 3, in PEFT's layout). With `dropout`, `x` is `m x` as in
    `lora_linear`.

    1. (C1) `dy` is `[rows, out]`, `x` is `[rows, in]`.
    2. (C2) `a` and `da` have one type `[rank, in]`; `b` and `db` have one type
       `[out, rank]`.
    3. (C3) `h`, if present, is `[rows, rank]`.
    4. (C4) `dy` and `x` have one element type; `a`, `b` and `h` have the type
       that it is computed in.
    5. (C5) `dropout` is above 0 and below 1; with it come `of` and `key`.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x8xf32>
    %x = hone.input "hidden" : tensor<?x4xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<8x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> (tensor<2x4xf32>, tensor<8x2xf32>)
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, Hone_Matrix:$x, Hone_Matrix:$a,
                       Hone_Matrix:$b, Optional<Hone_Matrix>:$h,
                       Optional<Hone_RandomKey>:$key, F64Attr:$scale,
                       OptionalAttr<F64Attr>:$dropout,
                       OptionalAttr<StrAttr>:$of);
  let results = (outs Hone_Matrix:$da, Hone_Matrix:$db);
  let assemblyFormat = [{
    $dy `,` $x `,` $a `,` $b (`h` $h^)? `scale` $scale
    (`dropout` $dropout^ `of` $of `by` $key)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Hone_AttentionAdjointOp : Hone_DerivedOp<"attention_adjoint", [
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "adjoint of attention with respect to queries, keys and values";
  let description = [{
    Per head, over the pairs of rows and keys that attention with this `window`
    has, with `p_ij = exp(scale * q_i . k_j - m_i) * r_i`, where `m_i` and `r_i`
    are the `normalizer` that attention gave,
    `D_i = dy_i . y_i` and `ds_ij = p_ij * (dy_i . v_j - D_i)`:
    `dq_i = scale * sum_j ds_ij k_j`, `dk_j = scale * sum_i ds_ij q_i`,
    `dv_j = sum_i p_ij dy_i`; `dk` and `dv` sum over the heads of a group
    (Dao 2023, alg. 2).

    1. (C1) `dy`, `q`, `y` and `dq` have one type `[rows, heads * d]`; `k`,
       `v`, `dk` and `dv` have one type `[rows, kv_heads * d]`.
    2. (C2) `kv_heads` divides `heads`.
    3. (C3) `normalizer` is `[rows, 2 * heads]`, `starts` is `[rows]`.
    4. (C4) `q` and `k` have one element type, `normalizer` the type that it is
       computed in.
    5. (C5) `window`, if given, is positive.

    Example:
    ```mlir
    %q = hone.input "q" : tensor<?x8xf32>
    %k = hone.input "k" : tensor<?x4xf32>
    %l = hone.input "normalizer" : tensor<?x4xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %dq, %dk, %dv = hone.attention_adjoint %q, %q, %k, %k, %q, %l, %s heads 2 kv_heads 1 scale 0.5 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<?xi32>) -> (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, Hone_Matrix:$q, Hone_Matrix:$k,
                       Hone_Matrix:$v, Hone_Matrix:$y, Hone_Matrix:$normalizer,
                       Hone_RowIndices:$starts, I64Attr:$heads,
                       I64Attr:$kv_heads, OptionalAttr<I64Attr>:$window,
                       F64Attr:$scale);
  let results = (outs Hone_Matrix:$dq, Hone_Matrix:$dk, Hone_Matrix:$dv);
  let assemblyFormat = [{
    $dy `,` $q `,` $k `,` $v `,` $y `,` $normalizer `,` $starts `heads` $heads
    `kv_heads` $kv_heads (`window` $window^)? `scale` $scale attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Hone_GatedActivationAdjointOp : Hone_DerivedOp<"gated_activation_adjoint", [
    SameOperandsAndResultType, Hone_RowWise, Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>]> {
  let summary = "adjoint of gated_activation with respect to both operands";
  let description = [{
    `dgate = dy * up * f'(gate)` and `dup = dy * f(gate)`; the derivative of
    `relu` is zero at zero.

    1. (C1) all operands and results have one type.

    Example:
    ```mlir
    %d = hone.input "dy" : tensor<?x8xf32>
    %g = hone.input "gate" : tensor<?x8xf32>
    %u = hone.input "up" : tensor<?x8xf32>
    %dg, %du = hone.gated_activation_adjoint silu %d, %g, %u : tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_ActivationAttr:$activation, Hone_Matrix:$dy,
                       Hone_Matrix:$gate, Hone_Matrix:$up);
  let results = (outs Hone_Matrix:$dgate, Hone_Matrix:$dup);
  let assemblyFormat = "$activation $dy `,` $gate `,` $up attr-dict `:` type($dy)";
}

def Hone_GradientOp : Hone_Op<"gradient", [
    ParentOneOf<["BlockOp", "RowTilesOp"]>]> {
  let summary = "the sink of one parameter's gradient";
  let description = [{
    Adds `value` to the gradient of the trainable parameter `of` of the layer
    that runs this block. Derivations end here; what becomes of gradients (an
    update at once, accumulation, clipping, a sum over ranks) is the business
    of a later pass and nobody else's.

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

//===----------------------------------------------------------------------===//
// Tiles of rows
//===----------------------------------------------------------------------===//

def Hone_RowTilesOp : Hone_Op<"row_tiles", [HasParent<"BlockOp">, SingleBlock,
    RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<Hone_CostOpInterface, ["getFlops"]>]> {
  let summary = "row-wise ops, run for one slice of rows after another";
  let description = [{
    Runs its body for rows `0` to `tile_rows - 1`, then for the next
    `tile_rows`, and so on, in order. The body's arguments are slices of the
    operands, or an operand itself that has no rows; what it returns are the same slices of the results, and
    `hone.gradient` adds what each slice contributes. So values inside the body
    exist for `tile_rows` rows at a time, whatever the length of the batch.

    The body may read ambient values from outside. Every bit is that of the same
    ops without tiles (see `RowWise`).

    1. (C1) `tile_rows` is a positive multiple of `numerics::kGradientRows`.
    2. (C2) results have rows, and the body's arguments and what it returns have
       the types of operands and results.
    3. (C3) ops of the body are `RowWise`, sinks, or ambient.
    4. (C4) what the body reads from outside is ambient.

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

//===----------------------------------------------------------------------===//
// Pools: values of some layers, kept by their order within a selection
//===----------------------------------------------------------------------===//

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
    last read of one. What a slot holds before the first `hone.keep` in it is
    undefined.

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
    /// The type of what one slot of a pool holds.
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
    4. (C4) `pool` is a `hone.pool` of the entry, which has an example: what an
       entry is given, it only reads.
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
  let summary = "what a slot holds";
  let description = [{
    The memory of the slot, without a copy; `slots` as in `hone.keep`. What reads
    it must be as conditional as what kept it.

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

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

def Hone_LayerGradientOp : Hone_Op<"layer_gradient", [
    ParentOneOf<["EntryOp"]>]> {
  let summary = "the gradients of one layer, zero at first";
  let description = [{
    The slice of the gradient that belongs to the trainable parameters of the
    layer `prefix`, in memory of its own from here to its last use. Sinks of
    the calls behind it add to it instead of to the gradient of all parameters.
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
    What ends the window of a conditional `hone.layer_gradient`: the gradient of
    all parameters becomes `gradient + window`, element by element. Does nothing
    if the condition is zero. Batches are folded in their order, each from zero:
    a sum that several machines can make with the same bits.

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

// An optimizer step. `gradient` restricts it to one layer, `layers` to some; with
// `when` it is done only if that element of the mask is not zero. With `along`, the gradient is in no memory: it is that of `hone.estimate_gradient`,
// formed where it is read. `rate_of_b` is in place of `learning_rate` for B of
// adapters and for vectors (LoRA+, Hayou et al. 2024). `rounding` is there
// exactly when the parameters are stored as bfloat16: each new value is computed
// in the type of the gradient and becomes one of its two neighbours, the upper
// one with the probability (value - lower) / (upper - lower). Element i of a
// tensor takes the upper 16 of the bits at i of the random stream whose purpose
// is Round and whose name is the tensor's.
class Hone_UpdateOp<string mnemonic, list<Trait> traits = []>
    : Hone_Op<mnemonic, !listconcat(traits, [ParentOneOf<["EntryOp"]>,
        DeclareOpInterfaceMethods<Hone_UpdateOpInterface,
                                  ["getNumStateVectors"]>])> {
  let hasVerifier = 1;
}

def Hone_SgdOp : Hone_UpdateOp<"sgd", [AttrSizedOperandSegments]> {
  let summary = "stochastic gradient descent";
  let description = [{
    As torch.optim.SGD: `g = gradient_scale * gradient + weight_decay * theta`;
    with `momentum`, `m = momentum * m + g` and `g = m`;
    `theta = theta - learning_rate * g`. On all trainable parameters, or with
    `on` on those of some layers, which lie behind each other, or with `from` on
    those of one; with `rate_of_b`, B of adapters and vectors have that learning
    rate; with `round`, parameters are bfloat16 and rounded at random without bias.

    1. (C1) `gradient` is the result of a `hone.layer_gradient`.
    2. (C2) `from` stands together with neither `along` nor `on`.
    3. (C3) `mask` is an argument of the entry and has an element `mask_index`.

    Example:
    ```mlir
    hone.entry update @update(%g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>) {
      hone.sgd %g, %l, %w
    }
    hone.entry update @some(
        %g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>, %mask: tensor<8xi32>) {
      hone.sgd %g, %l, %w on ["model.layers.3."] when %mask[3] : tensor<8xi32>
    }
    hone.entry gradient @step(%g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>) {
      %d = hone.layer_gradient "model.layers.0." : tensor<16xf32>
      hone.sgd %g, %l, %w from %d : tensor<16xf32>
    }
    hone.entry update @move(
        %g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>,
        %key: tensor<4xi32>, %c: tensor<1xf32>) {
      hone.sgd %g, %l, %w along %key, %c : tensor<1xf32> on ["model.layers.0."]
    }
    ```
  }];
  let arguments = (ins Hone_Scalar:$gradient_scale, Hone_Scalar:$learning_rate,
                       Hone_Scalar:$weight_decay,
                       Optional<Hone_Scalar>:$momentum,
                       Optional<Hone_Scalar>:$rate_of_b,
                       Optional<Hone_RandomKey>:$rounding,
                       Optional<Hone_Vector>:$gradient,
                       Optional<Hone_RandomKey>:$key,
                       Optional<Hone_Coefficients>:$coefficients,
                       OptionalAttr<StrArrayAttr>:$layers,
                       Optional<Hone_OfLayers>:$mask,
                       OptionalAttr<I64Attr>:$mask_index);
  let assemblyFormat = [{
    $gradient_scale `,` $learning_rate `,` $weight_decay
    (`momentum` $momentum^)? (`rate_of_b` $rate_of_b^)?
    (`round` $rounding^)? (`from` $gradient^ `:` type($gradient))?
    (`along` $key^ `,` $coefficients `:` type($coefficients))? (`on` $layers^)?
    (`when` $mask^ `[` $mask_index `]` `:` type($mask))? attr-dict
  }];
}

def Hone_AdamwOp : Hone_UpdateOp<"adamw", [AttrSizedOperandSegments]> {
  let summary = "AdamW";
  let description = [{
    As torch.optim.AdamW (Loshchilov and Hutter 2019, alg. 2), with
    `g = gradient_scale * gradient`:
    `theta = theta * (1 - learning_rate * weight_decay)`,
    `m = beta1 * m + (1 - beta1) * g`, `v = beta2 * v + (1 - beta2) * g^2`,
    `theta = theta - learning_rate / c1 * m / (sqrt(v / c2) + epsilon)`, where
    `c1` and `c2` are the bias corrections `1 - beta^step`. On all trainable
    parameters, or with `on` on those of some layers, which lie behind each other,
    or with `from` on those of one; with `rate_of_b`, B of adapters and vectors
    have that learning rate; with `round`, parameters are bfloat16 and rounded at
    random without bias.

    1. (C1) `gradient` is the result of a `hone.layer_gradient`.
    2. (C2) `from` stands together with neither `along` nor `on`.
    3. (C3) `mask` is an argument of the entry and has an element `mask_index`.

    Example:
    ```mlir
    hone.entry update @update(
        %g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>, %b1: tensor<f64>,
        %b2: tensor<f64>, %e: tensor<f64>, %c1: tensor<f64>, %c2: tensor<f64>) {
      hone.adamw %g, %l, %w, %b1, %b2, %e, %c1, %c2
    }
    ```
  }];
  let arguments = (ins Hone_Scalar:$gradient_scale, Hone_Scalar:$learning_rate,
                       Hone_Scalar:$weight_decay, Hone_Scalar:$beta1,
                       Hone_Scalar:$beta2, Hone_Scalar:$epsilon,
                       Hone_Scalar:$bias_correction1,
                       Hone_Scalar:$bias_correction2,
                       Optional<Hone_Scalar>:$rate_of_b,
                       Optional<Hone_RandomKey>:$rounding,
                       Optional<Hone_Vector>:$gradient,
                       Optional<Hone_RandomKey>:$key,
                       Optional<Hone_Coefficients>:$coefficients,
                       OptionalAttr<StrArrayAttr>:$layers,
                       Optional<Hone_OfLayers>:$mask,
                       OptionalAttr<I64Attr>:$mask_index);
  let assemblyFormat = [{
    $gradient_scale `,` $learning_rate `,` $weight_decay `,` $beta1 `,` $beta2
    `,` $epsilon `,` $bias_correction1 `,` $bias_correction2
    (`rate_of_b` $rate_of_b^)? (`round` $rounding^)? (`from` $gradient^ `:` type($gradient))?
    (`along` $key^ `,` $coefficients `:` type($coefficients))? (`on` $layers^)?
    (`when` $mask^ `[` $mask_index `]` `:` type($mask))? attr-dict
  }];
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

//===----------------------------------------------------------------------===//
// Weight streaming
//===----------------------------------------------------------------------===//

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
    Asks the system to read ahead what `block` reads of the weights file when it
    runs for the layer `prefix`. A hint: numbers do not depend on it.

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

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

def Hone_RegionOp : Hone_Op<"region", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "a part of the arena that lives as long as the program";
  let description = [{
    Created by placement: the trainable parameters `theta`, their gradients,
    each optimizer state vector, each named input of the first batch in flight,
    where the batches of a step but the first have one layer's gradients
    (`accumulation`), and each `hone.cache` of each layer. Where layers are updated one by one, `gradient` stands behind
    the arena, and where a spec does not accumulate `accumulation` does: only a
    run that asks for them has memory for them.

    1. (C1) `offset` is a multiple of 64 and `bytes` is not negative.

    Names are `theta`, `gradient`, `state0`, `state1`, `accumulation`, `scalars`,
    `input.<name>` and `cache.<prefix><name>`.

    Example: `hone.region "theta" adapter at 0 bytes 4096`
  }];
  let arguments = (ins StrAttr:$name, Hone_MemoryClassAttr:$memory_class,
                       I64Attr:$offset, I64Attr:$bytes);
  let assemblyFormat = "$name $memory_class `at` $offset `bytes` $bytes attr-dict";
  let hasVerifier = 1;
}

#endif // HONE_STEP_OPS_TD
