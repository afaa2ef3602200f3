//===- Lora.td - Projections with an adapter ------------------------------===//
//
// lora_linear, and DoRA (Liu et al. 2024, eq. 5): y = x (m (W + s B A) /
// |W + s B A|)^T + bias, with a length |.| and a magnitude m for each output. As
// lora_linear without a bias, the lengths, and a factor for each output.
// Derivatives take the lengths for constant (section 4.3), as PEFT does: only
// the direction of a row changes.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LORA_TD
#define HONE_LORA_TD

include "dialects/Hone/ops/OpBase.td"

def Hone_LoraLinearOp : Hone_DifferentiableOp<"lora_linear", [
    Hone_RowWise, AttrSizedOperandSegments, Hone_TakesEpilogue,
    DeclareOpInterfaceMethods<Hone_RandomOpInterface>,
    DeclareOpInterfaceMethods<Hone_RegularizerOpInterface>,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "linear projection plus a scaled low-rank update";
  let description = [{
    `y = x W^T + h B^T + bias` with `h = scale * x A^T` (Hu et al. 2021, eq. 3,
    with PEFT's layout of A and B). The weight is frozen: there is no rule for a
    gradient of it. The optional last result is `h`; MeSP recomputes it,
    `store-h` keeps it.

    With `dropout`, `h = scale * (m x) A^T`, as PEFT has it: the weight reads
    the whole input (Srivastava et al. 2014, scaled in training). `m` is
    `1 / (1 - p)`, or 0 for the elements whose 32 random bits are below `p 2^32`:
    those of row and column in the stream of purpose Dropout and the name `of`
    after the layer's prefix, `RandomStream::word`. The row is that of the batch.
    No memory holds `m`: each reader draws it again.

    1. (C1) `x` is `[rows, in]`, `weight` is `[out, in]`, `y` is `[rows, out]`.
    2. (C2) `a` is `[rank, in]`, `b` is `[out, rank]`, of one rank.
    3. (C3) `bias`, if present, is `[out]`.
    4. (C4) `h`, if asked for, is `[rows, rank]`.
    5. (C5) `x` and `y` have one element type; `a`, `b` and `h` have the type
       that it is computed in, and `weight` and `bias` are converted to it.
    6. (C6) `dropout` is above 0 and below 1; with it come `of` and `key`.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %w = hone.parameter "q_proj.weight" : tensor<8x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<8x2xf32>
    %y = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<?x8xf32>
    %key = hone.input "random_key" : tensor<4xi32>
    %z = hone.lora_linear %x, %w, %a, %b scale 2.0 dropout 0.1 of "q_proj" by %key : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<4xi32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Matrix:$weight, Hone_Matrix:$a,
                       Hone_Matrix:$b, Optional<Hone_Vector>:$bias,
                       Optional<Hone_RandomKey>:$key, F64Attr:$scale,
                       OptionalAttr<F64Attr>:$dropout,
                       OptionalAttr<StrAttr>:$of);
  let results = (outs Hone_Matrix:$y, Optional<Hone_Matrix>:$h);
  let assemblyFormat = [{
    $x `,` $weight `,` $a `,` $b (`bias` $bias^)? `scale` $scale
    (`dropout` $dropout^ `of` $of `by` $key)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::Type getAuxiliaryType();";
}

def Hone_LoraInnerAdjointOp : Hone_DerivedOp<"lora_inner_adjoint", [
    Hone_RowWise]> {
  let summary = "adjoint of lora_linear with respect to the inside of its adapter";
  let description = [{
    `u = scale * dy B`, the cotangent of `x A^T`. The adjoints with respect to `x`
    and to A both read it, so it is an op of its own where there are both.

    1. (C1) `dy` is `[rows, out]`, `b` is `[out, rank]`, `u` is `[rows, rank]`.
    2. (C2) `b` and `u` have the type that `dy` is computed in.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x8xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<8x2xf32>
    %u = hone.lora_inner_adjoint %dy, %b scale 2.0 : (tensor<?x8xf32>, tensor<8x2xf32>) -> tensor<?x2xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, Hone_Matrix:$b, F64Attr:$scale);
  let results = (outs Hone_Matrix:$u);
  let assemblyFormat = [{
    $dy `,` $b `scale` $scale attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Hone_LoraLinearAdjointOp : Hone_DerivedOp<"lora_linear_adjoint", [
    Hone_RowWise, AttrSizedOperandSegments, Hone_TakesEpilogue,
    DeclareOpInterfaceMethods<Hone_RandomOpInterface>,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "adjoint of lora_linear with respect to its input";
  let description = [{
    `dx = dy W + m (u A)` with `u = scale * dy B`, which is read if it is given.
    `m` is that of `lora_linear` with this `dropout`, or 1.

    1. (C1) `dy` is `[rows, out]`, `weight` is `[out, in]`, `dx` is
       `[rows, in]`.
    2. (C2) `a` is `[rank, in]`, `b` is `[out, rank]`.
    3. (C3) `dy` and `dx` have one element type; `a` and `b` have the type that
       it is computed in, and `weight` is converted to it.
    4. (C4) `dropout` is above 0 and below 1; with it come `of` and `key`.
    5. (C5) `u`, if present, is `[rows, rank]`, of the type that `dy` is computed
       in.

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
                       Hone_Matrix:$b, Optional<Hone_Matrix>:$u,
                       Optional<Hone_RandomKey>:$key,
                       F64Attr:$scale, OptionalAttr<F64Attr>:$dropout,
                       OptionalAttr<StrAttr>:$of);
  let results = (outs Hone_Matrix:$dx);
  let assemblyFormat = [{
    $dy `,` $weight `,` $a `,` $b (`u` $u^)? `scale` $scale
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
    With `h = scale * x A^T`, read if kept and recomputed if not, and
    `u = scale * dy B`, read if it is given: `da = u^T x` and `db = dy^T h`
    (MeSP, eqs. 2 and 3, in PEFT's layout). With `dropout`, `x` is `m x` as in
    `lora_linear`.

    1. (C1) `dy` is `[rows, out]`, `x` is `[rows, in]`.
    2. (C2) `a` and `da` have one type `[rank, in]`; `b` and `db` have one type
       `[out, rank]`.
    3. (C3) `h` and `u`, if present, are `[rows, rank]`.
    4. (C4) `dy` and `x` have one element type; `a`, `b`, `h` and `u` have the
       type that it is computed in.
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
                       Optional<Hone_Matrix>:$u,
                       Optional<Hone_RandomKey>:$key, F64Attr:$scale,
                       OptionalAttr<F64Attr>:$dropout,
                       OptionalAttr<StrAttr>:$of);
  let results = (outs Hone_Matrix:$da, Hone_Matrix:$db);
  let assemblyFormat = [{
    $dy `,` $x `,` $a `,` $b (`h` $h^)? (`u` $u^)? `scale` $scale
    (`dropout` $dropout^ `of` $of `by` $key)? attr-dict `:`
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

def Hone_RowLengthsOp : Hone_DerivedOp<"row_lengths", [Hone_Detached,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "length of each row of a matrix with a low-rank update";
  let description = [{
    `lengths[j] = |weight[j] + scale * b[j] a|`, the Euclidean norm over the
    inputs. One row of the sum exists at a time. Derivatives take it for
    constant. It depends on parameters alone, and is computed where it is read:
    that costs as much as a forward of `rank` rows.

    1. (C1) `weight` is `[out, in]`, `lengths` is `[out]`.
    2. (C2) `a` is `[rank, in]`, `b` is `[out, rank]`, of one rank.
    3. (C3) all have one element type.

    Example:
    ```mlir
    %w = hone.parameter "q_proj.weight" : tensor<8x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<8x2xf32>
    %n = hone.row_lengths %w, %a, %b scale 2.0 : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$weight, Hone_Matrix:$a, Hone_Matrix:$b,
                       F64Attr:$scale);
  let results = (outs Hone_Vector:$lengths);
  let assemblyFormat = "$weight `,` $a `,` $b `scale` $scale attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hone_RescaleOp : Hone_DifferentiableOp<"rescale", [
    Hone_RowWise, Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "each feature brought to a magnitude of its own";
  let description = [{
    `y[:, j] = x[:, j] * (magnitude[j] / lengths[j]) + bias[j]`. There is no rule
    for a gradient of `lengths`.

    1. (C1) `x` and `y` have one type `[rows, out]`.
    2. (C2) `magnitude`, `lengths`, and `bias` if present, are `[out]`, of the type
       that `x` is computed in.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x8xf32>
    %m = hone.parameter "q_proj.lora_magnitude_vector" trainable init <row_lengths> : tensor<8xf32>
    %n = hone.input "lengths" : tensor<8xf32>
    %y = hone.rescale %x, %m, %n : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Vector:$magnitude,
                       Hone_Vector:$lengths, Optional<Hone_Vector>:$bias);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = "$x `,` $magnitude `,` $lengths (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hone_RescaleParameterAdjointOp : Hone_DerivedOp<
    "rescale_parameter_adjoint", [Hone_RowWise]> {
  let summary = "adjoint of rescale with respect to its magnitude";
  let description = [{
    `dm[j] = sum_i dy[i, j] * x[i, j] / lengths[j]`, each term divided.

    1. (C1) `dy` and `x` have one type `[rows, out]`.
    2. (C2) `lengths` and `dm` are `[out]`, of the type that `x` is computed in.

    Example:
    ```mlir
    %dy = hone.input "dy" : tensor<?x8xf32>
    %x = hone.input "hidden" : tensor<?x8xf32>
    %n = hone.input "lengths" : tensor<8xf32>
    %dm = hone.rescale_parameter_adjoint %dy, %x, %n : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$dy, Hone_Matrix:$x, Hone_Vector:$lengths);
  let results = (outs Hone_Vector:$dm);
  let assemblyFormat = "$dy `,` $x `,` $lengths attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // HONE_LORA_TD
