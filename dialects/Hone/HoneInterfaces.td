//===- HoneInterfaces.td - The questions that ops answer ------------------===//
//
// Passes never ask which op this is. An op joins every training method by
// answering these questions; an op that does not answer is an error that
// names the op and the interface.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_INTERFACES_TD
#define HONE_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Hone_AdjointOpInterface : OpInterface<"AdjointOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    Reverse-mode differentiation, one op at a time: what the adjoint must read,
    and how it is built. The two are apart because what must be kept is the
    memory question of training, and a policy answers it, not the op.

    An op may have one *auxiliary* result, always its last and optional: a
    value that its forward computation passes through and that spares the
    adjoint work (the log-sum-exp of attention, h = xA of LoRA). The op is
    given the result when a policy decides to keep it.
  }];
  let methods = [
    InterfaceMethod<[{
        The sets of values from which the adjoint can be built when
        `activeOperands` receive a cotangent, cheapest in compute first.
        Called before any adjoint is built. At least one; an empty set is an
        adjoint that reads nothing.
      }],
      "::llvm::SmallVector<::hone::ResidualAlternative>",
      "getResidualAlternatives",
      (ins "const ::llvm::BitVector &":$activeOperands)>,
    InterfaceMethod<[{
        Builds the adjoint: cotangents of the active operands from the
        cotangents of the results. Returns one value for each operand, null
        for the inactive. The request promises that every residual of the
        chosen alternative can be read, and that at least one cotangent is
        not null. Fails with a diagnostic at the op when it has no rule for an
        active operand.
      }],
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>",
      "buildAdjoint",
      (ins "::mlir::OpBuilder &":$builder,
           "const ::hone::AdjointRequest &":$request)>,
    InterfaceMethod<[{
        The type of the auxiliary result, or null if the op has none.
      }],
      "::mlir::Type", "getAuxiliaryType", (ins),
      /*methodBody=*/"", /*defaultImplementation=*/"return {};">
  ];
}

def Hone_TangentOpInterface : OpInterface<"TangentOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    Forward-mode differentiation, one op at a time: the directional derivative
    of the first result along the tangents of the operands.

    A tangent runs beside the op, so it can read the operands, and the auxiliary
    result if a pass asked for it before. An op that has an adjoint with respect
    to an operand has a tangent with respect to it.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the tangent of the first result. `operandTangents` has one
        value for each operand, null where the tangent is zero; at least one
        is not null. The op itself stays in place and its operands and results
        may be read. The tangent may be one of `operandTangents`. Fails with a
        diagnostic at the op when it has no rule for an operand that has a
        tangent.
      }],
      "::mlir::FailureOr<::mlir::Value>", "buildTangent",
      (ins "::mlir::OpBuilder &":$builder,
           "::llvm::ArrayRef<::mlir::Value>":$operandTangents)>
  ];
}

def Hone_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    The costs of an op, for plans and for rates in benchmarks. Counts are of the
    mathematics, not of an implementation: a multiply-add is two operations.
  }];
  let methods = [
    InterfaceMethod<"Floating-point operations for `rows` rows.",
      "int64_t", "getFlops", (ins "int64_t":$rows)>,
    InterfaceMethod<[{
        Bytes that must cross memory once for `rows` rows: all operands read,
        all results written.
      }],
      "int64_t", "getBytes", (ins "int64_t":$rows), /*methodBody=*/"",
      /*defaultImplementation=*/[{
        return ::hone::operandAndResultBytes($_op, rows);
      }]>
  ];
  let extraClassDeclaration = [{
    /// Operations for each element of the results of an op that is cheap to run
    /// again: a norm takes four, a product twice the length of its rows.
    static constexpr int64_t cheapFlops = 16;
  }];
}

def Hone_WorkspaceOpInterface : OpInterface<"WorkspaceOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    Memory that an op needs only while it runs, beside its operands and
    results. Chunk sizes that decide it are constants of the numerics: they
    are the blocks in which sums are taken, so no plan may change them.
  }];
  let methods = [
    InterfaceMethod<[{
        The static shapes of the buffers, for batches of up to `maxRows` rows.
        Placement gives each a slot, alive while the op runs.
      }],
      "::llvm::SmallVector<::mlir::MemRefType>", "getWorkspace",
      (ins "int64_t":$maxRows)>
  ];
}

def Hone_InPlaceOpInterface : OpInterface<"InPlaceOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    Ops whose result may take the memory of an operand that dies there.

    The contract of such an op's kernel: where a result and an operand may share
    memory, it reads each element of the operand before it writes the result's
    element at that place, and never after. A sum over a row may read the whole
    row first.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether `result` may be written over `operand`. Called for operands of
        the result's type. By default all of these: the op is element-wise, or
        row-wise as above, in each of them.
      }],
      "bool", "mayOverwrite", (ins "unsigned":$operand, "unsigned":$result),
      /*methodBody=*/"", /*defaultImplementation=*/"return true;">
  ];
}

def Hone_ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    Ops whose results' elements depend on the operands' elements at the same
    place, and on scalars. Written once as scalar code, the formula is the body
    of the op's own loop, and the epilogue of a product that runs before it.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds one element of each result. `operands` has an element, or the
        scalar, for each operand; types are those of the elements.
      }],
      "::llvm::SmallVector<::mlir::Value>", "buildElements",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder,
           "::mlir::ValueRange":$operands)>
  ];
}

def Hone_UpdateOpInterface : OpInterface<"UpdateOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    An optimizer step in an entry, on all trainable parameters or on those of
    some layers.
  }];
  let methods = [
    InterfaceMethod<[{
        The optimizer's state from step to step; `computed` is the type of
        gradients, in which updates compute. Placement gives each a region.
      }],
      "::llvm::SmallVector<::hone::StateSlot>", "getStateSlots",
      (ins "::mlir::Type":$computed)>,
    InterfaceMethod<[{
        The key of the random stream that new values are rounded with; null: none
        are rounded at random.
      }],
      "::mlir::Value", "getRounding">,
    InterfaceMethod<[{
        The learning rate of all parameters that have no other.
      }],
      "::mlir::Value", "getLearningRate">,
    InterfaceMethod<[{
        The learning rate of B of adapters, and of vectors; null: that of all
        parameters.
      }],
      "::mlir::Value", "getRateOfB">,
    InterfaceMethod<[{
        The `hone.layer_gradient` of the one layer that is updated; null: the
        layers of `getLayersAttr` are.
      }],
      "::mlir::Value", "getLayerGradient", (ins), [{
        return $_op.getGradient();
      }]>,
    InterfaceMethod<[{
        The coefficients of the random directions whose sum is the gradient; null:
        the gradient is in memory.
      }],
      "::mlir::Value", "getDirectionCoefficients", (ins), [{
        return $_op.getCoefficients();
      }]>,
    InterfaceMethod<[{
        The key of the stream of these directions.
      }],
      "::mlir::Value", "getDirectionKey", (ins), [{
        return $_op.getKey();
      }]>,
    InterfaceMethod<[{
        The prefixes of the layers that are updated; null: all layers are, or the
        one of `getLayerGradient`.
      }],
      "::mlir::ArrayAttr", "getLayersAttr">,
    InterfaceMethod<[{
        The mask whose element `getMaskIndex` must not be zero for the update to be
        done; null: it always is.
      }],
      "::mlir::Value", "getMask">,
    InterfaceMethod<"The element of the mask that decides.",
      "::std::optional<int64_t>", "getMaskIndex">
  ];
}

def Hone_ItemOpInterface : OpInterface<"ItemOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    An item of a schedule that can be in a later stage of a repeat.
  }];
  let methods = [
    InterfaceMethod<"Ticks from the start of an iteration to this item.",
      "int64_t", "getItemStage", (ins), [{
        return static_cast<int64_t>($_op.getStage());
      }]>,
    InterfaceMethod<"Moves it to another stage.", "void", "setItemStage",
      (ins "int64_t":$stage), [{ $_op.setStage(stage); }]>
  ];
}

def Hone_StreamOpInterface : OpInterface<"StreamOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    An op that reads a weight once, piece by piece, and can let each piece go
    when it has been read. For a weight that is larger than the layers.
  }];
  let methods = [
    InterfaceMethod<"Whether pieces are let go.", "bool", "getStreamed">,
    InterfaceMethod<"Asks for it.", "void", "setStreamed", (ins "bool":$streamed)>,
    InterfaceMethod<"Rows of the weight in a piece.", "int64_t", "getPieceRows">,
    InterfaceMethod<"Whether it reads those rows alone that an operand names.",
      "bool", "readsNamedRows", (ins), [{}], [{ return false; }]>
  ];
}

def Hone_PerParameterOpInterface : OpInterface<"PerParameterOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    An op whose result is one number for each trainable parameter, in the order
    of their table. A part of a model has the numbers of its own parameters;
    those of all parts together are the whole model's.
  }];
  let methods = [
    InterfaceMethod<"The numbers: a tensor of f64.", "::mlir::OpResult",
      "getNumbers">
  ];
}

def Hone_RandomOpInterface : OpInterface<"RandomOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    An op that may read a random stream (runtime/src/base/Philox.h); no memory
    holds its numbers. Seed and step are in a key, an operand; the op gives the
    stream's name.
  }];
  let methods = [
    InterfaceMethod<"None if it reads no random numbers.",
      "::std::optional<::hone::RandomSource>", "getRandomSource">
  ];
}

def Hone_RegularizerOpInterface : OpInterface<"RegularizerOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    An op that may do more in training than where a model is evaluated or
    generates text: dropout, noise, smoothed labels.
  }];
  let methods = [
    InterfaceMethod<"Whether it does.", "bool", "isRegularizing">,
    InterfaceMethod<[{
        Builds ops for this op's results where nothing trains. Returns a value
        for each result.
      }],
      "::llvm::SmallVector<::mlir::Value>", "buildPlain",
      (ins "::mlir::OpBuilder &":$builder)>
  ];
}

def Hone_ContinuationOpInterface : OpInterface<"ContinuationOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    An op whose rows depend on other rows, or whose result is of all of them, and
    which can be computed for rows that continue a sequence: the values that it
    needs of earlier rows are in memory of its layer.

    Ops whose rows depend on no other (`RowWise`, `PositionWise`) are the same for
    new rows and need no such rule.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds ops for this op's results at new rows, and returns these. Types
        may differ: of a loss there is no more than the logits after the last
        row. Fails with a diagnostic at the op when it cannot.
      }],
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>",
      "buildContinuation",
      (ins "::mlir::OpBuilder &":$builder,
           "const ::hone::ContinuationRequest &":$request)>
  ];
}

// The value is the same in every block and phase of one step and costs
// nothing to read again, so no policy ever keeps it: parameters and inputs.
def Hone_Ambient : NativeOpTrait<"Ambient"> {
  let cppNamespace = "::hone";
}

// Derivatives take the result for constant, even if its operands are not.
def Hone_Detached : NativeOpTrait<"Detached"> {
  let cppNamespace = "::hone";
}

// The result is memory of the first operand: that is in use as long as the result
// is read, and nothing is written over it.
def Hone_View : NativeOpTrait<"View"> {
  let cppNamespace = "::hone";
}

// A row of a result depends only on the same row of the operands that have
// rows, and on its number in the batch where an op draws random numbers; a
// result without rows is a sum over rows, taken in blocks of
// numerics::kGradientRows. All other operands are ambient, or whole for every
// row. So the op may run for slices of rows, whose first rows are multiples of
// numerics::kGradientRows, and every bit is the same.
def Hone_RowWise : NativeOpTrait<"RowWise"> {
  let cppNamespace = "::hone";
}

// Each result without rows is a sum over rows, which the kernel adds to the sink
// of a gradient where that alone reads it, so the sum needs no memory of its own:
// of a table, that would be the largest buffer of a step. Kernels of ops that are
// RowWise do so too: a tile of rows adds its part.
def Hone_AddsToGradient : NativeOpTrait<"AddsToGradient"> {
  let cppNamespace = "::hone";
}

// A row of a result depends only on the same row of the operands that have
// rows and on where it stands in its sequence, row - starts[row]. The weaker
// half of RowWise: where rows are counted from matters.
def Hone_PositionWise : NativeOpTrait<"PositionWise"> {
  let cppNamespace = "::hone";
}

// The first result is a sum of products whose kernel can do more to each element
// before it is stored: an element-wise op that follows needs no loop of its own.
def Hone_TakesEpilogue : NativeOpTrait<"TakesEpilogue"> {
  let cppNamespace = "::hone";
}

#endif // HONE_INTERFACES_TD
