//===- Loss.td - The head and its loss ------------------------------------===//

#ifndef HONE_LOSS_TD
#define HONE_LOSS_TD

include "dialects/Hone/ops/OpBase.td"

def Hone_LinearCrossEntropyOp : Hone_DifferentiableOp<"linear_cross_entropy", [
    Hone_StreamOpInterface,
    DeclareOpInterfaceMethods<Hone_RegularizerOpInterface>,
    DeclareOpInterfaceMethods<Hone_ContinuationOpInterface>,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "output head and summed cross-entropy, without the logits";
  let description = [{
    `loss = sum_i -log softmax(x_i W^T)[targets[i]]` over the rows whose target
    is not -100; other rows cost nothing. With `smoothing`, labels are smoothed
    (Szegedy et al. 2016, sec. 7): with `e` of it and `V` words, `(1 - e)` of a
    row's loss and `e / V sum_v -log softmax(x_i W^T)[v]`. The optional last result is
    `d(loss)/d(x)`, which the same pass over the logits can write, so that the
    logits exist for one tile of the vocabulary at a time and once. With
    `streamed`, so do the resident pages of the head; for a frozen one only.

    1. (C1) `x` is `[rows, hidden]`, `weight` is `[vocabulary, hidden]`.
    2. (C2) `targets` is `[rows]`.
    3. (C3) `dx`, if asked for, has the type of `x`.
    4. (C4) the size of the vocabulary is known; targets are below it.
    5. (C5) `smoothing`, if given, is above 0 and below 1.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %loss = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    %smoothed = hone.linear_cross_entropy %x, %w, %t smoothing 0.1 : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Matrix:$weight,
                       Hone_RowIndices:$targets, OptionalAttr<F64Attr>:$smoothing,
                       UnitAttr:$streamed);
  let results = (outs Hone_Scalar:$loss, Optional<Hone_Matrix>:$dx);
  let assemblyFormat = [{
    $x `,` $weight `,` $targets (`smoothing` $smoothing^)?
    (`streamed` $streamed^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Type getAuxiliaryType();
    int64_t getPieceRows();
    /// Whether `dx` is narrower than its sums, which then are workspace.
    bool sumsApart() {
      return getDx() && computeType(getDx().getType()) != getDx().getType();
    }
  }];
}

def Hone_LinearCrossEntropyParameterAdjointOp : Hone_DerivedOp<
    "linear_cross_entropy_parameter_adjoint", [Hone_AddsToGradient,
    DeclareOpInterfaceMethods<Hone_WorkspaceOpInterface>]> {
  let summary = "adjoint of linear_cross_entropy with respect to the head";
  let description = [{
    With `p_i = softmax(x_i W^T)`, over the rows whose target is not -100:
    `dw[v, :] = dloss * sum_i (p_iv - q_iv) x_i`, where `q_iv` is
    `(1 - e) (v = targets[i]) + e / V` for a `smoothing` of `e`. The logits of a
    tile of the vocabulary are made twice: the sum over the whole vocabulary
    is known only after the last.

    1. (C1) `x` is `[rows, hidden]`; `weight` and `dw` have one type
       `[vocabulary, hidden]`, of the type that `x` is computed in.
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
    int64_t getPieceRows();
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

def Hone_LogitsOp : Hone_UntrainedOp<"logits", [Pure,
    Hone_StreamOpInterface]> {
  let summary = "output head of the last row";
  let description = [{
    `y = x_last W^T`: the next token is drawn from it. With `streamed`, the
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
  let extraClassDeclaration = [{
    int64_t getPieceRows();
  }];
}

#endif // HONE_LOSS_TD
