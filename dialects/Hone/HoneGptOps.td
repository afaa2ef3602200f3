//===- HoneGptOps.td - What decoders before Llama are made of -------------===//
//
// Layer normalisation, activations without a gate, learned positions and fused
// projections, each with its derivatives. Conventions are those of
// HoneModelOps.td, HoneStepOps.td and HoneTangentOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_GPT_OPS_TD
#define HONE_GPT_OPS_TD

include "dialects/Hone/HoneStepOps.td"

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

def Hone_ActivationOp : Hone_DifferentiableOp<"activation", [
    SameOperandsAndResultType, Hone_RowWise, Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>]> {
  let summary = "an element-wise activation";
  let description = [{
    `y = f(x)`, where `f` is

      * `relu`: `max(x, 0)`;
      * `gelu`: `x (1 + erf(x / sqrt(2))) / 2` (Hendrycks and Gimpel 2016);
      * `gelu_tanh`: its approximation
        `x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2`;
      * `silu`: `x / (1 + exp(-x))`.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x8xf32>
    %y = hone.activation gelu_tanh %x : tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_ActivationAttr:$activation, Hone_Matrix:$x);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = "$activation $x attr-dict `:` type($y)";
}

def Hone_ActivationAdjointOp : Hone_DerivedOp<"activation_adjoint", [
    SameOperandsAndResultType, Hone_RowWise, Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>]> {
  let summary = "adjoint of activation, which is its tangent too";
  let description = [{
    `dx = dy f'(x)`; of `relu` at 0 the derivative is 0.

    Example:
    ```mlir
    %d = hone.input "dy" : tensor<?x8xf32>
    %x = hone.input "hidden" : tensor<?x8xf32>
    %dx = hone.activation_adjoint relu %d, %x : tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_ActivationAttr:$activation, Hone_Matrix:$dy,
                       Hone_Matrix:$x);
  let results = (outs Hone_Matrix:$dx);
  let assemblyFormat = "$activation $dy `,` $x attr-dict `:` type($dx)";
}

//===----------------------------------------------------------------------===//
// Layer normalisation
//===----------------------------------------------------------------------===//

def Hone_LayerNormOp : Hone_DifferentiableOp<"layer_norm", [
    Hone_RowWise, Hone_InPlaceOpInterface]> {
  let summary = "layer normalisation of each row";
  let description = [{
    `y = (x - m) r weight + bias` with the mean `m` of a row and
    `r = 1 / sqrt(mean((x - m)^2) + eps)` (Ba, Kiros and Hinton 2016). The
    optional last result holds `m` and `r` of each row, which the derivatives
    can read instead of recomputing them.

    1. (C1) `x` and `y` have one type `[rows, hidden]`; `weight` and `bias` are
       `[hidden]`.
    2. (C2) `statistics`, if asked for, is `[rows, 2]` of the type that `x` is
       computed in.
    3. (C3) `eps` is not negative.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %w = hone.parameter "norm.weight" : tensor<4xf32>
    %b = hone.parameter "norm.bias" : tensor<4xf32>
    %y = hone.layer_norm %x, %w, %b eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Vector:$weight, Hone_Vector:$bias,
                       F64Attr:$eps);
  let results = (outs Hone_Matrix:$y, Optional<Hone_Matrix>:$statistics);
  let assemblyFormat = "$x `,` $weight `,` $bias `eps` $eps attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::Type getAuxiliaryType();";
}

def Hone_LayerNormAdjointOp : Hone_DerivedOp<"layer_norm_adjoint", [
    Hone_RowWise, Hone_InPlaceOpInterface]> {
  let summary = "adjoint of layer_norm with respect to its input";
  let description = [{
    With `m` and `r` as in `layer_norm`, `n = (x - m) r` and
    `g = dy * weight`: `dx = r (g - mean(g) - n mean(g n))`.

    1. (C1) `dy`, `x` and `dx` have one type `[rows, hidden]`; `weight` is
       `[hidden]`.
    2. (C2) `statistics`, if present, is `[rows, 2]` of the type that `x` is
       computed in.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x4xf32>
    %x = hone.input "hidden" : tensor<?x4xf32>
    %w = hone.parameter "norm.weight" : tensor<4xf32>
    %dx = hone.layer_norm_adjoint %dy, %x, %w eps 1.0e-5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, Hone_Matrix:$x, Hone_Vector:$weight,
                       Optional<Hone_Matrix>:$statistics, F64Attr:$eps);
  let results = (outs Hone_Matrix:$dx);
  let assemblyFormat = "$dy `,` $x `,` $weight (`statistics` $statistics^)? `eps` $eps attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hone_LayerNormParameterAdjointOp : Hone_DerivedOp<
    "layer_norm_parameter_adjoint", [Hone_RowWise,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "adjoint of layer_norm with respect to weight and bias";
  let description = [{
    With `n` as in `layer_norm_adjoint`: `dw = sum_i dy_i n_i` and
    `db = sum_i dy_i`.

    1. (C1) `dy` and `x` have one type `[rows, hidden]`; `dw` and `db` are
       `[hidden]`.
    2. (C2) `statistics`, if present, is `[rows, 2]`.
    3. (C3) `statistics`, `dw` and `db` have the type that `x` is computed in.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x4xf32>
    %x = hone.input "hidden" : tensor<?x4xf32>
    %dw, %db = hone.layer_norm_parameter_adjoint %dy, %x eps 1.0e-5 : (tensor<?x4xf32>, tensor<?x4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, Hone_Matrix:$x,
                       Optional<Hone_Matrix>:$statistics, F64Attr:$eps);
  let results = (outs Hone_Vector:$dw, Hone_Vector:$db);
  let assemblyFormat = "$dy `,` $x (`statistics` $statistics^)? `eps` $eps attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hone_LayerNormTangentOp : Hone_DerivedOp<"layer_norm_tangent", [
    Hone_RowWise, AttrSizedOperandSegments]> {
  let summary = "tangent of layer_norm along input, weight and bias";
  let description = [{
    With `m` and `r` as in `layer_norm` and `n = (x - m) r`:
    `ty = weight r (tx - mean(tx) - n mean(tx n)) + tw n + tb`.

    1. (C1) `tx`, `x` and `ty` have one type `[rows, hidden]`; `weight`, `tw`
       and `tb` are `[hidden]`.
    2. (C2) `statistics`, if present, is `[rows, 2]` of the type that `x` is
       computed in.
    3. (C3) `tx`, `tw` or `tb` is present.

    Example:
    ```mlir
    %tx = hone.input "tx" : tensor<?x4xf32>
    %x = hone.input "hidden" : tensor<?x4xf32>
    %w = hone.parameter "norm.weight" : tensor<4xf32>
    %tb = hone.input "tb" : tensor<4xf32>
    %ty = hone.layer_norm_tangent %x, %w tx %tx tb %tb eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Vector:$weight,
                       Optional<Hone_Matrix>:$tx, Optional<Hone_Vector>:$tw,
                       Optional<Hone_Vector>:$tb,
                       Optional<Hone_Matrix>:$statistics, F64Attr:$eps);
  let results = (outs Hone_Matrix:$ty);
  let assemblyFormat = [{
    $x `,` $weight (`tx` $tx^)? (`tw` $tw^)? (`tb` $tb^)?
    (`statistics` $statistics^)? `eps` $eps attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Learned positions
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Fused projections
//===----------------------------------------------------------------------===//

def Hone_ColumnsOp : Hone_DifferentiableOp<"columns", [Hone_RowWise]> {
  let summary = "a slice of the features";
  let description = [{
    `y[:, j] = x[:, from + j]`: one of the projections that a model computes as
    one.

    1. (C1) `x` and `y` have one number of rows and one element type.
    2. (C2) `x` has the features `from` to `from + out - 1`.

    Example:
    ```mlir
    %x = hone.input "fused" : tensor<?x24xf32>
    %y = hone.columns %x from 16 : tensor<?x24xf32> -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, I64Attr:$from);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = "$x `from` $from attr-dict `:` type($x) `->` type($y)";
  let hasVerifier = 1;
}

def Hone_ColumnsAdjointOp : Hone_DerivedOp<"columns_adjoint", [Hone_RowWise]> {
  let summary = "adjoint of columns";
  let description = [{
    `dx[:, from + j] = dy[:, j]`, and zero in the other columns.

    1. (C1) `dy` and `dx` have one number of rows and one element type.
    2. (C2) `dx` has the features `from` to `from + out - 1`.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x8xf32>
    %dx = hone.columns_adjoint %dy from 16 : tensor<?x8xf32> -> tensor<?x24xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, I64Attr:$from);
  let results = (outs Hone_Matrix:$dx);
  let assemblyFormat = "$dy `from` $from attr-dict `:` type($dy) `->` type($dx)";
  let hasVerifier = 1;
}

#endif // HONE_GPT_OPS_TD
