//===- Attention.td - Rows that read other rows ---------------------------===//
//
// Rotary positions and attention. A step of generation computes a few new rows of
// one sequence. Those before them were rows of earlier steps; all that is left of
// them is keys and values. The inputs say where new rows stand: `sequence_starts`
// counts back from the first of them, so it is negative, and a row's position is
// row - starts[row] in every op.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ATTENTION_TD
#define HONE_ATTENTION_TD

include "dialects/Hone/ops/OpBase.td"

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
    3. (C3) `theta` is finite and positive, and so is `stretch` if present.
    4. (C4) Each `f[j]` is finite.

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

def Hone_CacheOp : Hone_Op<"cache", [Pure, Hone_Ambient]> {
  let summary = "memory of a layer from run to run";
  let description = [{
    A row for each position of a sequence, in the region `cache.` followed by the
    calling layer's prefix and `name`. Only operations of generation may read or
    write it.

    1. (C1) the shape is static.

    Example: `%k = hone.cache "attention.keys" : tensor<32x4xf32>`
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs Hone_Matrix:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hone_CachedAttentionOp : Hone_UntrainedOp<"cached_attention"> {
  let summary = "causal grouped-query attention of rows that continue a sequence";
  let description = [{
    All rows are of one sequence, one after the other; row `i` is position
    `p = i - starts[i]` of it, and `starts` is the same for all. First, for each
    row, `keys[p] = k_i` and `values[p] = v_i`. Then each row is that of
    `hone.attention` over the positions `max(0, p - window + 1)` to `p`, with the
    keys and values of the caches:
    `y_i = sum_j softmax_j(scale * q_i . keys_j) values_j`.

    A row has the same bits with whichever others it comes: sums over positions
    are taken in blocks that are counted from position 0.

    Positions are below the rows of the caches, and those before the first row's
    have been written; neither is checked when it runs.

    1. (C1) `q` and `y` have one type `[rows, heads * d]`; `k` and `v` have one
       type `[rows, kv_heads * d]`.
    2. (C2) `kv_heads` divides `heads`.
    3. (C3) `starts` is `[rows]`.
    4. (C4) `keys` and `values` are two results of `hone.cache`, of one type
       `[positions, kv_heads * d]`.
    5. (C5) `q`, `k` and `keys` have one element type.
    6. (C6) `window`, if present, is at least 1.

    Example:
    ```mlir
    hone.block @decoder(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
      %s = hone.input "sequence_starts" : tensor<?xi32>
      %keys = hone.cache "keys" : tensor<32x8xf32>
      %values = hone.cache "values" : tensor<32x8xf32>
      %y = hone.cached_attention %x, %x, %x, %s, %keys, %values heads 2 kv_heads 2 window 16 scale 0.5 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>, tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<?x8xf32>
      hone.return %y : tensor<?x8xf32>
    }
    ```
  }];
  let arguments = (ins Hone_Matrix:$q, Hone_Matrix:$k, Hone_Matrix:$v,
                       Hone_RowIndices:$starts, Hone_Matrix:$keys,
                       Hone_Matrix:$values, I64Attr:$heads, I64Attr:$kv_heads,
                       OptionalAttr<I64Attr>:$window, F64Attr:$scale);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $starts `,` $keys `,` $values `heads` $heads `kv_heads`
    $kv_heads (`window` $window^)? `scale` $scale attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // HONE_ATTENTION_TD
