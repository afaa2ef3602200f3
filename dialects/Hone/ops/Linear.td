//===- Linear.td - Projections, their biases and slices -------------------===//

#ifndef HONE_LINEAR_TD
#define HONE_LINEAR_TD

include "dialects/Hone/ops/OpBase.td"

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

def Hone_LinearParameterAdjointOp : Hone_DerivedOp<"linear_parameter_adjoint", [
    Hone_RowWise]> {
  let summary = "adjoint of linear with respect to its weight";
  let description = [{
    `dw = dy^T x`.

    1. (C1) `dy` is `[rows, out]`, `x` is `[rows, in]`, `dw` is `[out, in]`.
    2. (C2) `dy` and `x` have one element type; `dw` has the type that it is
       computed in.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x8xf32>
    %x = hone.input "hidden" : tensor<?x4xf32>
    %dw = hone.linear_parameter_adjoint %dy, %x : (tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, Hone_Matrix:$x);
  let results = (outs Hone_Matrix:$dw);
  let assemblyFormat = "$dy `,` $x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hone_BiasAdjointOp : Hone_DerivedOp<"bias_adjoint", [Hone_RowWise]> {
  let summary = "adjoint of a sum with one vector for all rows";
  let description = [{
    `db = sum_i dy_i`: the gradient of the bias of `linear` and `lora_linear`.

    1. (C1) `dy` is `[rows, out]`, `db` is `[out]`.
    2. (C2) `db` has the type that `dy` is computed in.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x8xf32>
    %db = hone.bias_adjoint %dy : (tensor<?x8xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy);
  let results = (outs Hone_Vector:$db);
  let assemblyFormat = "$dy attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hone_BiasTangentOp : Hone_DerivedOp<"bias_tangent", [Hone_RowWise]> {
  let summary = "one vector for all rows";
  let description = [{
    `ty_i = tb` for each row `i`: the tangent of `linear` along its bias alone.

    1. (C1) `tb` is `[out]`, `ty` is `[rows, out]`.
    2. (C2) `tb` has the type that `ty` is computed in.

    Example:
    ```mlir
    %tb = hone.parameter "q_proj.bias" trainable init <pretrained> : tensor<8xf32>
    %ty = hone.bias_tangent %tb : (tensor<8xf32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_Vector:$tb);
  let results = (outs Hone_Matrix:$ty);
  let assemblyFormat = "$tb attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

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

#endif // HONE_LINEAR_TD
