//===- Activation.td - Activations, with a gate and without ---------------===//

#ifndef HONE_ACTIVATION_TD
#define HONE_ACTIVATION_TD

include "dialects/Hone/ops/OpBase.td"

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

def Hone_GatedActivationOp : Hone_DifferentiableOp<"gated_activation", [
    SameOperandsAndResultType, Hone_RowWise, Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>]> {
  let summary = "activation(gate) * up";
  let description = [{
    `y = f(gate) * up` (Shazeer 2020, eqs. 5 and 6, without the projections, which
    are ops of their own), where `f` is that of `hone.activation`.

    1. (C1) all operands and the result have one type.

    Example:
    ```mlir
    %g = hone.input "gate" : tensor<?x8xf32>
    %u = hone.input "up" : tensor<?x8xf32>
    %y = hone.gated_activation silu %g, %u : tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_ActivationAttr:$activation, Hone_Matrix:$gate,
                       Hone_Matrix:$up);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = "$activation $gate `,` $up attr-dict `:` type($y)";
}

def Hone_GatedActivationAdjointOp : Hone_DerivedOp<"gated_activation_adjoint", [
    SameOperandsAndResultType, Hone_RowWise, Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>]> {
  let summary = "adjoint of gated_activation with respect to both operands";
  let description = [{
    `dgate = dy * up * f'(gate)` and `dup = dy * f(gate)`; the derivative of
    `relu` is zero at zero.

    1. (C1) all operands and results have one type.

    Example:
    ```mlir
    %d = hone.input "dy" : tensor<?x8xf32>
    %g = hone.input "gate" : tensor<?x8xf32>
    %u = hone.input "up" : tensor<?x8xf32>
    %dg, %du = hone.gated_activation_adjoint silu %d, %g, %u : tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_ActivationAttr:$activation, Hone_Matrix:$dy,
                       Hone_Matrix:$gate, Hone_Matrix:$up);
  let results = (outs Hone_Matrix:$dgate, Hone_Matrix:$dup);
  let assemblyFormat = "$activation $dy `,` $gate `,` $up attr-dict `:` type($dy)";
}

def Hone_GatedActivationTangentOp : Hone_DerivedOp<"gated_activation_tangent", [
    Hone_RowWise, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>]> {
  let summary = "tangent of gated_activation along both operands";
  let description = [{
    `ty = tgate * up * f'(gate) + tup * f(gate)`.

    1. (C1) all operands and the result have one type.
    2. (C2) `tgate` or `tup` is present.

    Example:
    ```mlir
    %g = hone.input "gate" : tensor<?x8xf32>
    %u = hone.input "up" : tensor<?x8xf32>
    %tg = hone.input "tgate" : tensor<?x8xf32>
    %ty = hone.gated_activation_tangent silu %g, %u tgate %tg : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_ActivationAttr:$activation, Hone_Matrix:$gate,
                       Hone_Matrix:$up, Optional<Hone_Matrix>:$tgate,
                       Optional<Hone_Matrix>:$tup);
  let results = (outs Hone_Matrix:$ty);
  let assemblyFormat = [{
    $activation $gate `,` $up (`tgate` $tgate^)? (`tup` $tup^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // HONE_ACTIVATION_TD
