//===- HoneParameterOps.td - Gradients of the model's own parameters ------===//
//
// Adjoints with respect to weights, biases, norms and tables; those of adapters
// are in HoneStepOps.td. All are sums over rows, in an order that no number of
// threads changes, and are added directly to the sink that alone reads them.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PARAMETER_OPS_TD
#define HONE_PARAMETER_OPS_TD

include "dialects/Hone/HoneStepOps.td"

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

def Hone_LinearCrossEntropyParameterAdjointOp : Hone_DerivedOp<
    "linear_cross_entropy_parameter_adjoint", [Hone_AddsToGradient,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "adjoint of linear_cross_entropy with respect to the head";
  let description = [{
    With `p_i = softmax(x_i W^T)`, over the rows whose target is not -100:
    `dw[v, :] = dloss * sum_i (p_iv - q_iv) x_i`, where `q_iv` is
    `(1 - e) (v = targets[i]) + e / V` for a `smoothing` of `e`. The logits of a tile
    of the vocabulary are made twice: what they sum up to, over the whole
    vocabulary, is known only behind the last.

    1. (C1) `x` is `[rows, hidden]`; `weight` and `dw` have one type
       `[vocabulary, hidden]`, of what `x` is computed in.
    2. (C2) `targets` is `[rows]`.
    3. (C3) the size of the vocabulary is known; targets are below it.
    4. (C4) `smoothing`, if given, is above 0 and below 1.

    Example:
    ```mlir
    %d = hone.input "dloss" : tensor<f64>
    %x = hone.input "hidden" : tensor<?x4xf32>
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" trainable init <pretrained> : tensor<9x4xf32>
    %dw = hone.linear_cross_entropy_parameter_adjoint %d, %x, %w, %t : (tensor<f64>, tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<9x4xf32>
    ```
  }];
  let arguments = (ins Hone_Scalar:$dloss, Hone_Matrix:$x, Hone_Matrix:$weight,
                       Hone_RowIndices:$targets,
                       OptionalAttr<F64Attr>:$smoothing);
  let results = (outs Hone_Matrix:$dw);
  let assemblyFormat = [{
    $dloss `,` $x `,` $weight `,` $targets (`smoothing` $smoothing^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // HONE_PARAMETER_OPS_TD
