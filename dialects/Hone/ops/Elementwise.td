//===- Elementwise.td - Sums, factors and conversions ---------------------===//

#ifndef HONE_ELEMENTWISE_TD
#define HONE_ELEMENTWISE_TD

include "dialects/Hone/ops/OpBase.td"

def Hone_AddOp : Hone_DifferentiableOp<"add", [SameOperandsAndResultType,
    Commutative, Hone_RowWise, Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>]> {
  let summary = "element-wise sum: residual connections, and fan-out in reverse";
  let description = [{
    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x8xf32>
    %y = hone.add %x, %x : tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$lhs, Hone_Matrix:$rhs);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($y)";
}

def Hone_ScaleOp : Hone_DerivedOp<"scale", [Hone_RowWise,
    Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>,
    DeclareOpInterfaceMethods<Hone_TangentOpInterface>]> {
  let summary = "every element times one scalar";
  let description = [{
    1. (C1) `x` and `y` have one type.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %s = hone.input "loss_scale" : tensor<f64>
    %y = hone.scale %x, %s : (tensor<?x4xf32>, tensor<f64>) -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Hone_Matrix:$x, Hone_Scalar:$factor);
  let results = (outs Hone_Matrix:$y);
  let assemblyFormat = "$x `,` $factor attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hone_ConvertOp : Hone_DerivedOp<"convert", [Hone_RowWise,
    Hone_InPlaceOpInterface,
    DeclareOpInterfaceMethods<Hone_ElementwiseOpInterface>]> {
  let summary = "each element in another float type, rounded to nearest even";
  let description = [{
    How a value is kept in half of its memory from forward to backward: rounded
    after its maker and converted back before its reader. Of the options of a
    plan it is the only one that changes gradients. From a type to itself it is
    the identity, which stands in for a block that is skipped.

    1. (C1) `x` and `y` have one shape.
    2. (C2) f64 does not become bf16: targets round f32 to it alone.

    Example:
    ```mlir
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.convert %x : tensor<?x4xf32> to tensor<?x4xbf16>
    ```
  }];
  let arguments = (ins 2DTensorOf<[Hone_ActivationFloat]>:$x);
  let results = (outs 2DTensorOf<[Hone_ActivationFloat]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

#endif // HONE_ELEMENTWISE_TD
