//===- OpBase.td - Classes and types of the ops ---------------------------===//
//
// Activations are tensor<?xNxT>: rows first, features last. Ops on bf16 compute in
// f32, in which sums, statistics and adapters are, and round each element of a
// result once.
//
// An adjoint op is named after the op whose adjoint it is; the formula in its
// description is the one that the tests check. The tangents of linear ops are the
// ops themselves. A tangent is named `t` and the name of its value: `ty` is the
// derivative of `y` along the direction that the given tangents name. One that is
// not given is zero.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_OP_BASE_TD
#define HONE_OP_BASE_TD

include "dialects/Hone/HoneDialect.td"
include "dialects/Hone/HoneInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class Hone_Op<string mnemonic, list<Trait> traits = []>
    : Op<Hone_Dialect, mnemonic, traits>;

// An op with all three: it takes part in every training method.
class Hone_DifferentiableOp<string mnemonic, list<Trait> traits = []>
    : Hone_Op<mnemonic, !listconcat(traits, [Pure,
        DeclareOpInterfaceMethods<Hone_AdjointOpInterface>,
        DeclareOpInterfaceMethods<Hone_TangentOpInterface>,
        DeclareOpInterfaceMethods<Hone_CostOpInterface, ["getFlops"]>])>;

// An op that derivations create to compute.
class Hone_DerivedOp<string mnemonic, list<Trait> traits = []>
    : Hone_Op<mnemonic, !listconcat(traits, [Pure,
        DeclareOpInterfaceMethods<Hone_CostOpInterface, ["getFlops"]>])>;

// An op of entries in which nothing trains: it computes, and has no derivative.
class Hone_UntrainedOp<string mnemonic, list<Trait> traits = []>
    : Hone_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<Hone_CostOpInterface, ["getFlops"]>])>;

def Hone_Float : AnyTypeOf<[F32, F64], "32- or 64-bit float">;
def Hone_ActivationFloat : AnyTypeOf<[BF16, F32, F64],
                                     "a float of 16 to 64 bits">;
// Only rows may be unknown: a kernel is compiled for its features.
def Hone_Matrix : Type<
    And<[2DTensorOf<[Hone_ActivationFloat]>.predicate,
         CPred<"!::llvm::cast<::mlir::RankedTensorType>($_self)"
               ".isDynamicDim(1)">]>,
    "2D tensor of floats of 16 to 64 bits with a known number of features",
    "::mlir::RankedTensorType">;
def Hone_Vector : 1DTensorOf<[Hone_Float]>;
def Hone_RowIndices : 1DTensorOf<[I32]>;
// A number of each layer: whether it runs, which slot it has. A schedule
// computes it before the entry that reads it begins.
def Hone_OfLayers : Type<
    And<[Hone_RowIndices.predicate, HasStaticShapePred]>,
    "a known number of 32-bit integers", "::mlir::RankedTensorType">;
def Hone_Numbers : Type<
    And<[1DTensorOf<[F64]>.predicate, HasStaticShapePred]>,
    "a known number of 64-bit floats", "::mlir::RankedTensorType">;
// The seed and the step of a RandomStream (runtime/src/base/Philox.h), each as
// its low and high half; purpose and name come from the op that reads it, and
// its tensor.
def Hone_RandomKey : Type<
    CPred<"$_self == ::hone::randomKeyType($_self.getContext())">,
    "tensor<4xi32>", "::mlir::RankedTensorType">,
  BuildableType<"::hone::randomKeyType($_builder.getContext())">;
// A step's record of random directions, one number for each.
def Hone_Coefficients : Type<
    And<[1DTensorOf<[F32]>.predicate, HasStaticShapePred]>,
    "a known number of f32", "::mlir::RankedTensorType">;
def Hone_Integer : Type<
    CPred<"$_self == ::hone::integerType($_self.getContext())">,
    "tensor<i64>", "::mlir::RankedTensorType">,
  BuildableType<"::hone::integerType($_builder.getContext())">;
def Hone_Scalar : Type<
    CPred<"$_self == ::hone::scalarType($_self.getContext())">,
    "tensor<f64>", "::mlir::RankedTensorType">,
  BuildableType<"::hone::scalarType($_builder.getContext())">;

#endif // HONE_OP_BASE_TD
