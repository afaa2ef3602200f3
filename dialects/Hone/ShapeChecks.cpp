//===- ShapeChecks.cpp - Relations between shapes, with messages ----------===//

#include "dialects/Hone/ShapeChecks.h"

#include "dialects/Hone/HoneOps.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace hone {

static int64_t dimOf(Value value, unsigned dim) {
  return cast<RankedTensorType>(value.getType()).getDimSize(dim);
}

static std::string text(int64_t size) {
  return ShapedType::isDynamic(size) ? "?" : std::to_string(size);
}

LogicalResult ShapeChecks::sameType(StringRef nameA, Value a, StringRef nameB,
                                    Value b) const {
  if (!a || !b || a.getType() == b.getType())
    return success();
  return op->emitOpError() << "expects '" << nameA << "' and '" << nameB
                           << "' to have one type, but got " << a.getType()
                           << " and " << b.getType();
}

LogicalResult ShapeChecks::sameElementType(StringRef nameA, Value a,
                                           StringRef nameB, Value b) const {
  if (!a || !b ||
      getElementTypeOrSelf(a.getType()) == getElementTypeOrSelf(b.getType()))
    return success();
  return op->emitOpError() << "expects '" << nameA << "' and '" << nameB
                           << "' to have one element type, but got "
                           << a.getType() << " and " << b.getType();
}

LogicalResult ShapeChecks::computesIn(StringRef nameOf, Value of,
                                      StringRef name, Value value) const {
  if (!of || !value)
    return success();
  Type expected = computeType(getElementTypeOrSelf(of.getType()));
  if (getElementTypeOrSelf(value.getType()) == expected)
    return success();
  return op->emitOpError() << "expects '" << name << "' to be of " << expected
                           << ", which '" << nameOf
                           << "' is computed in, but got " << value.getType();
}

LogicalResult ShapeChecks::sameDim(StringRef nameA, Value a, unsigned dimA,
                                   StringRef nameB, Value b,
                                   unsigned dimB) const {
  if (!a || !b || dimOf(a, dimA) == dimOf(b, dimB))
    return success();
  return op->emitOpError() << "expects dimension " << dimA << " of '" << nameA
                           << "' to be dimension " << dimB << " of '" << nameB
                           << "', but got " << text(dimOf(a, dimA)) << " and "
                           << text(dimOf(b, dimB));
}

LogicalResult ShapeChecks::dimIs(StringRef name, Value value, unsigned dim,
                                 int64_t size) const {
  if (!value || dimOf(value, dim) == size)
    return success();
  return op->emitOpError() << "expects dimension " << dim << " of '" << name
                           << "' to be " << size << ", but got "
                           << text(dimOf(value, dim));
}

LogicalResult ShapeChecks::isKnown(StringRef name, Value value,
                                   unsigned dim) const {
  if (!value || !ShapedType::isDynamic(dimOf(value, dim)))
    return success();
  return op->emitOpError() << "expects dimension " << dim << " of '" << name
                           << "' to be known, but got " << value.getType();
}

LogicalResult ShapeChecks::isPositive(StringRef name,
                                      std::optional<int64_t> number) const {
  if (!number || *number > 0)
    return success();
  return op->emitOpError() << "expects '" << name << "' to be positive but got "
                           << *number;
}

LogicalResult ShapeChecks::isPositive(StringRef name,
                                      std::optional<APFloat> number) const {
  if (!number || (number->isFinite() && number->convertToDouble() > 0))
    return success();
  return op->emitOpError() << "expects '" << name
                           << "' to be finite and positive";
}

LogicalResult ShapeChecks::isFraction(StringRef name,
                                      std::optional<APFloat> number) const {
  double value = number ? number->convertToDouble() : 0.5;
  if (value > 0 && value < 1)
    return success();
  return op->emitOpError() << "expects '" << name
                           << "' to be above 0 and below 1 but got " << value;
}

LogicalResult ShapeChecks::isNotNegative(StringRef name,
                                         const APFloat &number) const {
  if (number.convertToDouble() >= 0) // not of NaN
    return success();
  return op->emitOpError() << "expects '" << name << "' not to be negative";
}

LogicalResult ShapeChecks::anyTangent(ArrayRef<Value> tangents) const {
  if (llvm::any_of(tangents, [](Value tangent) { return bool(tangent); }))
    return success();
  return op->emitOpError("expects a tangent of at least one operand");
}

LogicalResult ShapeChecks::isDropout(std::optional<APFloat> dropout,
                                     std::optional<StringRef> of,
                                     Value key) const {
  if (dropout.has_value() != of.has_value() ||
      dropout.has_value() != static_cast<bool>(key))
    return op->emitOpError(
        "expects 'dropout', 'of' and 'key', or none of them");
  return isFraction("dropout", dropout);
}

LogicalResult ShapeChecks::normHeads(Value x, StringRef name, Value weight,
                                     int64_t heads) const {
  if (heads == 1)
    return sameDim(name, weight, 0, "x", x, 1);
  if (heads < 1)
    return isPositive("heads", heads);
  // Divided, since a product of any two sizes may overflow.
  int64_t width = dimOf(x, 1), head = dimOf(weight, 0);
  if (head > 0 && width % heads == 0 && width / heads == head)
    return success();
  return op->emitOpError() << "expects 'x' to have " << heads
                           << " heads as long as '" << name << "', but got "
                           << x.getType() << " and " << weight.getType();
}

LogicalResult ShapeChecks::headGroups(Value q, Value k, int64_t heads,
                                      int64_t kvHeads) const {
  if (heads < 1 || kvHeads < 1 || heads % kvHeads != 0)
    return op->emitOpError() << "expects 'kv_heads' to divide 'heads', but got "
                             << kvHeads << " and " << heads;
  int64_t queryWidth = dimOf(q, 1), keyWidth = dimOf(k, 1);
  if (queryWidth < heads || queryWidth % heads != 0 ||
      keyWidth % kvHeads != 0 || queryWidth / heads != keyWidth / kvHeads)
    return op->emitOpError()
           << "expects 'q' and 'k' to have heads of one size, but " << heads
           << " heads share " << queryWidth << " features and " << kvHeads
           << " heads share " << keyWidth;
  return success();
}

LogicalResult ShapeChecks::isOfEntry(StringRef name, Value numbers,
                                     std::optional<int64_t> index) const {
  if (bool(numbers) != index.has_value())
    return op->emitOpError()
           << "expects '" << name << "' and an element of it, or neither";
  if (!numbers)
    return success();
  auto argument = dyn_cast<BlockArgument>(numbers);
  if (!argument || argument.getOwner() != op->getBlock())
    return op->emitOpError()
           << "expects '" << name << "' to be an argument of the entry";
  if (*index >= 0 && *index < dimOf(numbers, 0))
    return success();
  return op->emitOpError() << "expects an element of the " << dimOf(numbers, 0)
                           << " of '" << name << "' but got " << *index;
}

LogicalResult
ShapeChecks::all(std::initializer_list<LogicalResult> results) const {
  return success(llvm::all_of(
      results, [](LogicalResult result) { return succeeded(result); }));
}

} // namespace hone
