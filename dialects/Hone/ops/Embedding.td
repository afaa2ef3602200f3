//===- Embedding.td - Rows of tables --------------------------------------===//
//
// Tokens and learned positions, and the noise that is added to them.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_EMBEDDING_TD
#define HONE_EMBEDDING_TD

include "dialects/Hone/ops/OpBase.td"

def Hone_EmbeddingOp : Hone_DifferentiableOp<"embedding", [
    Hone_PositionWise, Hone_StreamOpInterface]> {
  let summary = "rows of a table by token id";
  let description = [{
    `y[i, :] = scale * table[ids[i], :]`. With `streamed`, rows of the table are read
    from its file, so that no page of it is resident; for a frozen table only.

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
  let extraClassDeclaration = [{
    int64_t getPieceRows() { return 1; }
    bool readsNamedRows() { return true; }
  }];
}

def Hone_EmbeddingParameterAdjointOp : Hone_DerivedOp<
    "embedding_parameter_adjoint", [Hone_AddsToGradient]> {
  let summary = "adjoint of embedding with respect to its table";
  let description = [{
    `dt[v, :]` is the sum of `scale * dy_i` over the rows `i` with `ids[i] = v`, in
    their order.

    1. (C1) `dy` is `[rows, hidden]`, `ids` is `[rows]`, `dt` is
       `[vocabulary, hidden]`.
    2. (C2) the size of the vocabulary is known; ids are below it.
    3. (C3) `dt` has the type that `dy` is computed in.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x4xf32>
    %ids = hone.input "input_ids" : tensor<?xi32>
    %dt = hone.embedding_parameter_adjoint %dy, %ids : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<9x4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, Hone_RowIndices:$ids,
                       OptionalAttr<F64Attr>:$scale);
  let results = (outs Hone_Matrix:$dt);
  let assemblyFormat = "$dy `,` $ids (`scale` $scale^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
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
    3. (C3) `alpha` is finite and positive.

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

def Hone_PositionEmbeddingOp : Hone_DifferentiableOp<"position_embedding", [
    Hone_PositionWise]> {
  let summary = "rows of a table by position in the sequence";
  let description = [{
    `y[i, :] = table[i - starts[i] + offset, :]`.

    1. (C1) `starts` is `[rows]`, `table` is `[positions, hidden]`, `y` is
       `[rows, hidden]`.
    2. (C2) `offset` is not negative, and the table has a row for each position
       of the longest sequence of the module.

    Example:
    ```mlir
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %t = hone.parameter "embed_positions.weight" : tensor<9x4xf32>
    %y = hone.position_embedding %s, %t offset 2 : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Hone_RowIndices:$starts, Hone_Matrix:$table,
                       I64Attr:$offset);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = "$starts `,` $table `offset` $offset attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hone_PositionEmbeddingParameterAdjointOp : Hone_DerivedOp<
    "position_embedding_parameter_adjoint", [Hone_AddsToGradient]> {
  let summary = "adjoint of position_embedding with respect to its table";
  let description = [{
    `dtable[p, :] = sum_i dy[i, :]` over the rows with
    `i - starts[i] + offset = p`, in the order of the rows.

    1. (C1) `starts` is `[rows]`, `dy` is `[rows, hidden]`, `dtable` is
       `[positions, hidden]` of the type that `dy` is computed in.
    2. (C2) `offset` is not negative, and `dtable` has a row for each position
       of the longest sequence of the module.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x4xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %dt = hone.position_embedding_parameter_adjoint %dy, %s offset 2 : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<9x4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, Hone_RowIndices:$starts,
                       I64Attr:$offset);
  let results = (outs Hone_Matrix:$dtable);
  let assemblyFormat = "$dy `,` $starts `offset` $offset attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // HONE_EMBEDDING_TD
