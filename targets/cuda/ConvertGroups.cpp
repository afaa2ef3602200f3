//===- ConvertGroups.cpp - Products by four subgroups in the NVVM dialect -===//
//
// `wgmma` reads registers and memory until it is waited for, which LLVM does
// not know: from its fence to the end of the wait all is one piece of text. A
// product that goes on after its piece has its sums in registers that only the
// next piece names, which changes them in place.
//
//===----------------------------------------------------------------------===//

#include "targets/cuda/ConvertAccess.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace hone;

namespace {

constexpr int64_t kTerms = 16, kRow = simt::MultiplyGroupOp::kRow,
                  kRowBytes = 2 * kRow, kEightRows = 8 * kRowBytes;

/// Bytes of rows that follow each other.
constexpr int64_t panelOf(int64_t rows) { return rows * kRowBytes; }
/// Along terms of one row of 128 bytes nothing leads anywhere.
constexpr int64_t kNoPanel = 16;

/// Constraints of float32 sums and of words that the text computes. Sums that
/// there are before are changed in their places.
std::string constraintsOf(int64_t sums, bool areChanged, int64_t computed = 0) {
  std::string constraints;
  // New ones are written before all operands are read.
  for (int64_t i = 0; i < sums; ++i)
    constraints += areChanged ? "=f," : "=&f,";
  for (int64_t i = 0; i < computed; ++i)
    constraints += "=&l,";
  for (int64_t i = 0; areChanged && i < sums; ++i)
    constraints += std::to_string(i) + ",";
  return constraints;
}

/// The text of products, and its operands.
class GroupText {
public:
  GroupText(ConversionPatternRewriter &rewriter, Location loc, int64_t sums,
            ValueRange before)
      : b(rewriter), loc(loc), sums(sums), operands(before),
        constraints(constraintsOf(sums, !before.empty(), kAdvanced)) {}

  /// Something in the text.
  using Name = std::string;
  /// The descriptor of the rows that begin at `place`. `leading`: bytes from
  /// one panel of rows whose numbers are columns to the next.
  Name descriptor(Value place, int64_t leading);
  Name word(Value value) { return operand(value, "r,"); }

  /// A side of a product, which begins `bytes` after a descriptor's place.
  struct Side {
    Name descriptor;
    int64_t bytes;
  };
  /// Adds the products of 16 terms to `count` sums from `from` on, or stores
  /// them where `isFirst`. With `isTransposed`, terms on the right are rows.
  void multiply(int64_t from, int64_t count, bool isFirst, const Side &left,
                const Side &right, bool isTransposed) {
    multiply(from, count, isFirst, advanced(left, 0) + ", ", right, ", 0",
             isTransposed);
  }
  /// Of words on the left, and rows on the right that are terms.
  void multiply(int64_t from, int64_t count, ArrayRef<Name> left,
                const Side &right) {
    multiply(from, count, /*isFirst=*/false,
             "{" + llvm::join(left, ", ") + "}, ", right, "",
             /*isTransposed=*/true);
  }
  /// `goOn`: these products, though not those before, may be under way.
  SmallVector<Value> finish(bool goOn = false);

private:
  /// Descriptors that the text computes: handed in, all would be in registers
  /// before the first product.
  static constexpr int64_t kAdvanced = 2;

  void multiply(int64_t from, int64_t count, bool isFirst, const Name &left,
                const Side &right, const Name &isLeftTransposed,
                bool isTransposed);
  Name advanced(const Side &side, int64_t number);
  Name operand(Value value, const char *constraint) {
    operands.push_back(value);
    constraints += constraint;
    return "$" + std::to_string(sums + kAdvanced + operands.size() - 1);
  }

  ConversionPatternRewriter &b;
  const Location loc;
  const int64_t sums;
  SmallVector<Value> operands;
  std::string constraints, text = "wgmma.fence.sync.aligned;\n";
};

} // namespace

GroupText::Name GroupText::descriptor(Value place, int64_t leading) {
  // PTX, "Matrix Descriptor Format"; addresses and strides without 4 bits.
  Value pointer = pointerTo(b, loc, place, NVVM::NVVMMemorySpace::Shared);
  Type word = b.getI32Type(), wide = b.getI64Type();
  Value address = LLVM::PtrToIntOp::create(b, loc, word, pointer);
  Value four = LLVM::ConstantOp::create(b, loc, word, b.getI32IntegerAttr(4));
  Value begin = LLVM::LShrOp::create(b, loc, address, four);
  constexpr uint64_t kSwizzle128 = uint64_t(1) << 62;
  uint64_t fixed = uint64_t(leading >> 4) << 16 |
                   uint64_t(kEightRows >> 4) << 32 | kSwizzle128;
  Value rest = LLVM::ConstantOp::create(b, loc, wide,
                                        b.getI64IntegerAttr(int64_t(fixed)));
  return operand(LLVM::OrOp::create(
                     b, loc, LLVM::ZExtOp::create(b, loc, wide, begin), rest),
                 "l,");
}

GroupText::Name GroupText::advanced(const Side &side, int64_t number) {
  if (side.bytes == 0)
    return side.descriptor;
  Name result = "$" + std::to_string(sums + number);
  text += "add.s64 " + result + ", " + side.descriptor + ", " +
          std::to_string(side.bytes >> 4) + ";\n";
  return result;
}

void GroupText::multiply(int64_t from, int64_t count, bool isFirst,
                         const Name &left, const Side &right,
                         const Name &isLeftTransposed, bool isTransposed) {
  Name ofRight = advanced(right, 1), registers;
  for (int64_t i = from; i < from + count; ++i)
    registers += (i == from ? "$" : ", $") + std::to_string(i);
  text += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(2 * count) +
          "k16.f32.bf16.bf16 {" + registers + "}, " + left + ofRight +
          (isFirst ? ", 0" : ", 1") + ", 1, 1" + isLeftTransposed +
          (isTransposed ? ", 1;\n" : ", 0;\n");
}

static std::string waitForAllBut(int64_t groups) {
  return "wgmma.wait_group.sync.aligned " + std::to_string(groups) + ";";
}

/// The first `sums` results of `text`, which are float32; `others` follow them.
static SmallVector<Value> emitText(OpBuilder &b, Location loc, StringRef text,
                                   StringRef constraints, ValueRange operands,
                                   int64_t sums, ArrayRef<Type> others = {}) {
  SmallVector<Type> types(sums, b.getF32Type());
  llvm::append_range(types, others);
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  Value all = LLVM::InlineAsmOp::create(
                  b, loc, type, operands, text, constraints.str() + "~{memory}",
                  /*has_side_effects=*/true,
                  /*is_align_stack=*/false, LLVM::TailCallKind::None,
                  LLVM::AsmDialectAttr(),
                  /*operand_attrs=*/ArrayAttr())
                  .getRes();
  SmallVector<Value> each;
  for (int64_t i = 0; i < sums; ++i)
    each.push_back(LLVM::ExtractValueOp::create(b, loc, all, i));
  return each;
}

SmallVector<Value> GroupText::finish(bool goOn) {
  text += "wgmma.commit_group.sync.aligned;\n" + waitForAllBut(goOn ? 1 : 0);
  return emitText(b, loc, text, constraints, operands, sums,
                  SmallVector<Type>(kAdvanced, b.getI64Type()));
}

namespace {

struct ConvertMultiplyGroup : public ConvertAccess<simt::MultiplyGroupOp> {
  using ConvertAccess::ConvertAccess;

  LogicalResult
  matchAndRewrite(simt::MultiplyGroupOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto sums = static_cast<int64_t>(op.getSums().size());
    GroupText group(rewriter, loc, sums, adaptor.getSums());
    bool isTransposed = op.getTranspose();
    Value zero = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI64Type(),
                                          rewriter.getI64IntegerAttr(0));
    auto left = group.descriptor(
        placeOf(rewriter, loc, op.getLeft(), adaptor.getLeft(),
                {adaptor.getLeftSlot(), adaptor.getLeftRow(), zero}),
        kNoPanel);
    auto right = group.descriptor(placeOf(rewriter, loc, op.getRight(),
                                          adaptor.getRight(),
                                          {adaptor.getRightSlot(), zero, zero}),
                                  isTransposed ? panelOf(kRow) : kNoPanel);
    for (int64_t t = 0; t < kRow; t += kTerms)
      group.multiply(0, sums, /*isFirst=*/false, {left, 2 * t},
                     {right, isTransposed ? panelOf(t) : 2 * t}, isTransposed);
    rewriter.replaceOp(op, group.finish(op.getGoesOn()));
    return success();
  }
};

struct ConvertFinishGroups
    : public ConvertOpToLLVMPattern<simt::FinishGroupsOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(simt::FinishGroupsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    // Changed in place, sums are used by nobody before the wait.
    auto sums = static_cast<int64_t>(op.getSums().size());
    rewriter.replaceOp(op, emitText(rewriter, op.getLoc(), waitForAllBut(0),
                                    constraintsOf(sums, /*areChanged=*/true),
                                    adaptor.getSums(), sums));
    return success();
  }
};

struct ConvertGroupDots : public ConvertAccess<simt::GroupDotsOp> {
  using ConvertAccess::ConvertAccess;

  LogicalResult
  matchAndRewrite(simt::GroupDotsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    GroupText group(rewriter, loc, int64_t(op.getNumResults()), {});
    auto descriptorOf = [&](Value at) {
      return group.descriptor(
          placeOf(rewriter, loc, op.getMemory(), adaptor.getMemory(), at),
          kNoPanel);
    };
    auto sums = static_cast<int64_t>(op.getColumns()) / 2;
    int64_t from = 0;
    for (auto [leftAt, rightAt] :
         llvm::zip_equal(adaptor.getLefts(), adaptor.getRights())) {
      auto left = descriptorOf(leftAt), right = descriptorOf(rightAt);
      for (int64_t t = 0; t < static_cast<int64_t>(op.getFeatures());
           t += kTerms) {
        auto along = [&](uint64_t rows) {
          return t / kRow * panelOf(int64_t(rows)) + t % kRow * 2;
        };
        group.multiply(from, sums, /*isFirst=*/t == 0,
                       {left, along(op.getLeftRows())},
                       {right, along(op.getRightRows())},
                       /*isTransposed=*/false);
      }
      from += sums;
    }
    rewriter.replaceOp(op, group.finish());
    return success();
  }
};

struct ConvertGroupAdd : public ConvertAccess<simt::GroupAddOp> {
  using ConvertAccess::ConvertAccess;

  LogicalResult
  matchAndRewrite(simt::GroupAddOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    GroupText group(rewriter, loc, int64_t(op.getNumResults()),
                    adaptor.getSums());
    constexpr size_t kWords = 4;
    auto places = static_cast<int64_t>(op.getPlaces().size());
    auto sums = int64_t(op.getNumResults()) / places;
    ValueRange weights = adaptor.getWeights();
    size_t wordsEach = weights.size() / places;
    for (auto [i, at] : llvm::enumerate(adaptor.getPlaces())) {
      auto rows = group.descriptor(
          placeOf(rewriter, loc, op.getMemory(), adaptor.getMemory(), at),
          panelOf(static_cast<int64_t>(op.getRows())));
      SmallVector<std::string> words;
      for (Value word : weights.slice(i * wordsEach, wordsEach))
        words.push_back(group.word(word));
      for (size_t word = 0; word < wordsEach; word += kWords)
        group.multiply(int64_t(i) * sums, sums,
                       ArrayRef(words).slice(word, kWords),
                       {rows, panelOf(int64_t(word / kWords) * kTerms)});
    }
    rewriter.replaceOp(op, group.finish());
    return success();
  }
};

} // namespace

void hone::populateGroupPatterns(const LLVMTypeConverter &converter,
                                 RewritePatternSet &patterns) {
  patterns.add<ConvertMultiplyGroup, ConvertFinishGroups, ConvertGroupDots,
               ConvertGroupAdd>(converter);
}
