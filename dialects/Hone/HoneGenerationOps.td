//===- HoneGenerationOps.td - What generation of text adds ----------------===//
//
// A step of generation computes a few new rows of one sequence. Those before
// them were rows of earlier steps; all that is left of them is keys and values.
// The inputs say where new rows stand: `sequence_starts` counts back from the
// first of them, so it is negative, and a row's position is row - starts[row] in
// every op.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_GENERATION_OPS_TD
#define HONE_GENERATION_OPS_TD

include "dialects/Hone/HoneModelOps.td"

def Hone_CacheOp : Hone_Op<"cache", [Pure, Hone_Ambient]> {
  let summary = "memory of a layer from run to run";
  let description = [{
    A row for each position of a sequence, in the region `cache.` followed by the
    calling layer's prefix and `name`. What reads and writes it is an operation
    of generation; nothing else may.

    1. (C1) the shape is static.

    Example: `%k = hone.cache "attention.keys" : tensor<32x4xf32>`
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs Hone_Matrix:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hone_CachedAttentionOp : Hone_Op<"cached_attention", [
    DeclareOpInterfaceMethods<Hone_CostOpInterface, ["getFlops"]>]> {
  let summary = "causal grouped-query attention of rows that continue a sequence";
  let description = [{
    All rows are of one sequence, one behind the other; row `i` is position
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

def Hone_LogitsOp : Hone_Op<"logits", [Pure, Hone_StreamOpInterface,
    DeclareOpInterfaceMethods<Hone_CostOpInterface, ["getFlops"]>]> {
  let summary = "output head of the last row";
  let description = [{
    `y = x_last W^T`: what the next token is drawn from. With `streamed`, the
    resident pages of a tile of the head go when it has been read.

    1. (C1) `x` is `[rows, hidden]`, `weight` is `[vocabulary, hidden]`, `y` is
       `[vocabulary]`.
    2. (C2) `y` has the type that `x` is computed in.
    3. (C3) the size of the vocabulary is known.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %y = hone.logits %x, %w : (tensor<?x4xf32>, tensor<9x4xf32>) -> tensor<9xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Matrix:$weight,
                       UnitAttr:$streamed);
  let results = (outs Hone_Vector:$y);
  let assemblyFormat = "$x `,` $weight (`streamed` $streamed^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration =
      "int64_t getPieceRows() { return numerics::kLossColumns; }";
}

#endif // HONE_GENERATION_OPS_TD
