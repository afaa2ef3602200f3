//===- Norm.td - RMS and layer normalisation ------------------------------===//

#ifndef HONE_NORM_TD
#define HONE_NORM_TD

include "dialects/Hone/ops/OpBase.td"

def Hone_RmsNormOp : Hone_DifferentiableOp<"rms_norm", [
    Hone_RowWise, DeclareOpInterfaceMethods<Hone_InPlaceOpInterface,
                                            ["mayOverwrite"]>]> {
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

def Hone_RmsNormParameterAdjointOp : Hone_DerivedOp<
    "rms_norm_parameter_adjoint", [Hone_RowWise,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "adjoint of rms_norm with respect to its weight";
  let description = [{
    With `r_i = 1/sqrt(mean(x_i^2)+eps)`, read if kept and computed again if
    not: `dw = sum_i dy_i * x_i * r_i`, the sum over rows and over heads.

    1. (C1) `dy` and `x` have one type `[rows, heads * d]`; `dw` is `[d]`.
    2. (C2) `rstd`, if present, is `[rows, heads]`; it and `dw` have the type that
       `x` is computed in.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x4xf32>
    %x = hone.input "hidden" : tensor<?x4xf32>
    %dw = hone.rms_norm_parameter_adjoint %dy, %x eps 1.0e-5 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, Hone_Matrix:$x,
                       Optional<Hone_Matrix>:$rstd,
                       DefaultValuedAttr<I64Attr, "1">:$heads, F64Attr:$eps);
  let results = (outs Hone_Vector:$dw);
  let assemblyFormat = "$dy `,` $x (`rstd` $rstd^)? (`heads` $heads^)? `eps` $eps attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

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

def Hone_LayerNormOp : Hone_DifferentiableOp<"layer_norm", [
    Hone_RowWise, DeclareOpInterfaceMethods<Hone_InPlaceOpInterface,
                                            ["mayOverwrite"]>]> {
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

#endif // HONE_NORM_TD
