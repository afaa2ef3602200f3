//===- HoneDoraOps.td - Magnitude and direction apart ---------------------===//
//
// DoRA (Liu et al. 2024, eq. 5): y = x (m (W + s B A) / |W + s B A|)^T + bias, with
// a length |.| and a magnitude m for each output. As lora_linear without a bias,
// the lengths, and a factor for each output. Derivatives take the lengths for
// constant (section 4.3), as PEFT does: what changes is the direction of a row.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_DORA_OPS_TD
#define HONE_DORA_OPS_TD

include "dialects/Hone/HoneStepOps.td"

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

#endif // HONE_DORA_OPS_TD
