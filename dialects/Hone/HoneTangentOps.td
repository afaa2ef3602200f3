//===- HoneTangentOps.td - What forward mode adds -------------------------===//
//
// The tangents of ops that are not linear, and of lora_linear along A and B;
// the tangents of linear ops are the ops themselves. A tangent is named `t` and
// the name of its value: `ty` is the derivative of `y` along the direction that
// the given tangents name. One that is not given is zero.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TANGENT_OPS_TD
#define HONE_TANGENT_OPS_TD

include "dialects/Hone/HoneStepOps.td"

def Hone_RmsNormTangentOp : Hone_DerivedOp<"rms_norm_tangent", [Hone_RowWise]> {
  let summary = "tangent of rms_norm along its input";
  let description = [{
    With `r = 1/sqrt(mean(x^2)+eps)`, read if kept and recomputed if not, in each
    head: `ty = (offset + weight) * r * (tx - x * r^2 * mean(tx * x))`.

    1. (C1) `tx`, `x` and `ty` have one type `[rows, heads * d]`; `weight` is
       `[d]`.
    2. (C2) `rstd`, if present, is `[rows, heads]` of the type that `x` is
       computed in.
    3. (C3) `heads` is positive.

    Example:
    ```mlir
    %tx = hone.input "tx" : tensor<?x4xf32>
    %x = hone.input "hidden" : tensor<?x4xf32>
    %w = hone.parameter "norm.weight" : tensor<4xf32>
    %ty = hone.rms_norm_tangent %tx, %x, %w eps 1.0e-5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$tx, Hone_Matrix:$x, Hone_Vector:$weight,
                       Optional<Hone_Matrix>:$rstd,
                       DefaultValuedAttr<I64Attr, "1">:$heads,
                       DefaultValuedAttr<F64Attr, "0.0">:$offset, F64Attr:$eps);
  let results = (outs Hone_Matrix:$ty);
  let assemblyFormat = [{
    $tx `,` $x `,` $weight (`rstd` $rstd^)? (`heads` $heads^)?
    (`offset` $offset^)? `eps` $eps attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Hone_LoraParameterTangentOp : Hone_DerivedOp<"lora_parameter_tangent", [
    Hone_RowWise, AttrSizedOperandSegments, Hone_TakesEpilogue,
    DeclareOpInterfaceMethods<Hone_RandomOpInterface>,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "tangent of lora_linear along A and B";
  let description = [{
    With `h = scale * x A^T`, read if kept and recomputed if not:
    `ty = (scale * x ta^T) B^T + h tb^T`. The part along `x` is `lora_linear`
    itself, without its bias. With `dropout`, `x` is `m x` as there.

    1. (C1) `x` is `[rows, in]`, `ty` is `[rows, out]`.
    2. (C2) `a` and `ta` have one type `[rank, in]`; `b` and `tb` have one type
       `[out, rank]`.
    3. (C3) `h`, if present, is `[rows, rank]`.
    4. (C4) `ta` or `tb` is present.
    5. (C5) `x` and `ty` have one element type; `a`, `b` and `h` have the type
       that it is computed in.
    6. (C6) `dropout` is above 0 and below 1; with it come `of` and `key`.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<8x2xf32>
    %ta = hone.input "ta" : tensor<2x4xf32>
    %ty = hone.lora_parameter_tangent %x, %a, %b ta %ta scale 2.0 : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Matrix:$a, Hone_Matrix:$b,
                       Optional<Hone_Matrix>:$ta, Optional<Hone_Matrix>:$tb,
                       Optional<Hone_Matrix>:$h, Optional<Hone_RandomKey>:$key,
                       F64Attr:$scale, OptionalAttr<F64Attr>:$dropout,
                       OptionalAttr<StrAttr>:$of);
  let results = (outs Hone_Matrix:$ty);
  let assemblyFormat = [{
    $x `,` $a `,` $b (`ta` $ta^)? (`tb` $tb^)? (`h` $h^)? `scale` $scale
    (`dropout` $dropout^ `of` $of `by` $key)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Hone_AttentionTangentOp : Hone_DerivedOp<"attention_tangent", [
    AttrSizedOperandSegments]> {
  let summary = "tangent of attention along queries, keys and values";
  let description = [{
    Per head, with attention's weights `p_ij` in this `window`, from its
    `normalizer` if kept, and `ts_ij = scale * (tq_i . k_j + q_i . tk_j)`:
    `ty_i = sum_j p_ij (ts_ij - sum_l p_il ts_il) v_j + sum_j p_ij tv_j`.

    1. (C1) `q`, `tq` and `ty` have one type `[rows, heads * d]`; `k`, `v`,
       `tk` and `tv` have one type `[rows, kv_heads * d]`.
    2. (C2) `kv_heads` divides `heads`.
    3. (C3) `starts` is `[rows]`; `normalizer`, if present, is
       `[rows, 2 * heads]`.
    4. (C4) `tq`, `tk` or `tv` is present.
    5. (C5) `q` and `k` have one element type, `normalizer` the type that it is
       computed in.
    6. (C6) `window`, if given, is positive.

    Example:
    ```mlir
    %q = hone.input "q" : tensor<?x8xf32>
    %k = hone.input "k" : tensor<?x4xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %tq = hone.input "tq" : tensor<?x8xf32>
    %tv = hone.input "tv" : tensor<?x4xf32>
    %ty = hone.attention_tangent %q, %k, %k, %s tq %tq tv %tv heads 2 kv_heads 1 scale 0.5 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>, tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$q, Hone_Matrix:$k, Hone_Matrix:$v,
                       Hone_RowIndices:$starts, Optional<Hone_Matrix>:$tq,
                       Optional<Hone_Matrix>:$tk, Optional<Hone_Matrix>:$tv,
                       Optional<Hone_Matrix>:$normalizer, I64Attr:$heads,
                       I64Attr:$kv_heads, OptionalAttr<I64Attr>:$window,
                       F64Attr:$scale);
  let results = (outs Hone_Matrix:$ty);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $starts (`tq` $tq^)? (`tk` $tk^)? (`tv` $tv^)?
    (`normalizer` $normalizer^)? `heads` $heads `kv_heads` $kv_heads
    (`window` $window^)? `scale` $scale attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Hone_GatedActivationTangentOp : Hone_DerivedOp<"gated_activation_tangent", [
    Hone_RowWise, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>]> {
  let summary = "tangent of gated_activation along both operands";
  let description = [{
    `ty = tgate * up * f'(gate) + tup * f(gate)`.

    1. (C1) all operands and the result have one type.
    2. (C2) `tgate` or `tup` is present.

    Example:
    ```mlir
    %g = hone.input "gate" : tensor<?x8xf32>
    %u = hone.input "up" : tensor<?x8xf32>
    %tg = hone.input "tgate" : tensor<?x8xf32>
    %ty = hone.gated_activation_tangent silu %g, %u tgate %tg : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_ActivationAttr:$activation, Hone_Matrix:$gate,
                       Hone_Matrix:$up, Optional<Hone_Matrix>:$tgate,
                       Optional<Hone_Matrix>:$tup);
  let results = (outs Hone_Matrix:$ty);
  let assemblyFormat = [{
    $activation $gate `,` $up (`tgate` $tgate^)? (`tup` $tup^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Hone_LinearCrossEntropyTangentOp : Hone_DerivedOp<
    "linear_cross_entropy_tangent", [Hone_StreamOpInterface,
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "tangent of linear_cross_entropy along its input and the head";
  let description = [{
    With `p_i = softmax(x_i W^T)`, `tl_i = tx_i W^T + x_i tw^T` and
    `t = targets[i]`, over the rows whose target is not -100:
    `tloss = sum_i sum_j (p_ij - e / V) (tl_ij - tl_it)` for a `smoothing` of `e`.
    Where `d(loss)/d(x)` is at hand, its `dot` with `tx` is the same along `tx`
    for no product with the head.

    1. (C1) `tx` and `x` have one type `[rows, hidden]`; `tw` and `weight` have
       one type `[vocabulary, hidden]`.
    2. (C2) `targets` is `[rows]`.
    3. (C3) the size of the vocabulary is known; targets are below it.
    4. (C4) `tx` or `tw` is present.
    5. (C5) `smoothing`, if given, is above 0 and below 1.

    Example:
    ```mlir
    %tx = hone.input "tx" : tensor<?x4xf32>
    %x = hone.input "hidden" : tensor<?x4xf32>
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %tloss = hone.linear_cross_entropy_tangent %x, %w, %t tx %tx : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>, tensor<?x4xf32>) -> tensor<f64>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Matrix:$weight,
                       Hone_RowIndices:$targets, Optional<Hone_Matrix>:$tx,
                       Optional<Hone_Matrix>:$tw,
                       OptionalAttr<F64Attr>:$smoothing, UnitAttr:$streamed);
  let results = (outs Hone_Scalar:$tloss);
  let assemblyFormat = [{
    $x `,` $weight `,` $targets (`tx` $tx^)? (`tw` $tw^)?
    (`smoothing` $smoothing^)? (`streamed` $streamed^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getPieceRows() { return numerics::kLossColumns; }
  }];
}

def Hone_DotOp : Hone_DerivedOp<"dot", [SameTypeOperands,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "inner product of two matrices";
  let description = [{
    `product = sum_ij a_ij b_ij`, in double precision: the derivative of a
    scalar whose gradient is `a` along `b`.

    1. (C1) `a` and `b` have one type.

    Example:
    ```mlir
    %a = hone.input "hidden" : tensor<?x4xf32>
    %s = hone.dot %a, %a : tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$a, Hone_Matrix:$b);
  let results = (outs Hone_Scalar:$product);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a)";
}

#endif // HONE_TANGENT_OPS_TD
