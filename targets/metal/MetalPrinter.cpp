//===- MetalPrinter.cpp - Kernels in Metal's language ---------------------===//
//
// Integers are unsigned, so that sums wrap, and an index is signed; operations
// that see a sign, or its absence, say so with %s and %u below.
//
//===----------------------------------------------------------------------===//

#include "targets/metal/MetalPrinter.h"

#include "dialects/Tile/TileDialect.h"
#include "targets/gpu/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace hone;

/// The most that setBytes takes.
static constexpr uint64_t kMostClosureBytes = 4096;

static constexpr char kPrelude[] =
#include "targets/metal/Prelude.metal.inc"
    ;

//===----------------------------------------------------------------------===//
// Phrases
//===----------------------------------------------------------------------===//

namespace {

/// How an operation without regions and memory is said. %0, %1, %2: operands,
/// after s or u as a signed or unsigned number of at least 32 bits. %T: the
/// result's type; %t: its short name, as in to_f32.
struct Phrase {
  llvm::StringLiteral op, text;
};

} // namespace

static constexpr Phrase kPhrases[] = {
    {"arith.addf", "%0 + %1"},
    {"arith.addi", "%0 + %1"},
    {"arith.andi", "%0 & %1"},
    {"arith.divf", "%0 / %1"},
    {"arith.divsi", "%s0 / %s1"},
    {"arith.divui", "%u0 / %u1"},
    {"arith.extf", "to_%t(%0)"},
    {"arith.extsi", "%T(%s0)"},
    {"arith.extui", "%T(%u0)"},
    {"arith.index_cast", "%T(%s0)"},
    {"arith.index_castui", "%T(%u0)"},
    {"arith.maximumf", "maximum(%0, %1)"},
    {"arith.maxsi", "%s0 > %s1 ? %0 : %1"},
    {"arith.maxui", "%u0 > %u1 ? %0 : %1"},
    {"arith.minimumf", "minimum(%0, %1)"},
    {"arith.minsi", "%s0 < %s1 ? %0 : %1"},
    {"arith.minui", "%u0 < %u1 ? %0 : %1"},
    {"arith.mulf", "%0 * %1"},
    {"arith.muli", "%0 * %1"},
    {"arith.negf", "-%0"},
    {"arith.ori", "%0 | %1"},
    {"arith.remsi", "%s0 % %s1"},
    {"arith.remui", "%u0 % %u1"},
    {"arith.shli", "%0 << %1"},
    {"arith.shrsi", "%s0 >> %1"},
    {"arith.shrui", "%u0 >> %1"},
    {"arith.sitofp", "to_%t(%s0)"},
    {"arith.subf", "%0 - %1"},
    {"arith.subi", "%0 - %1"},
    {"arith.truncf", "to_%t(%0)"},
    {"arith.uitofp", "to_%t(%u0)"},
    {"arith.xori", "%0 ^ %1"},
    {"gpu.block_id", "group"},
    {"gpu.lane_id", "thread_index % 32"},
    {"gpu.subgroup_id", "thread_index / 32"},
    {"gpu.thread_id", "thread_index"},
    {"math.absf", "fabs(%0)"},
    {"math.ceil", "ceil(%0)"},
    {"math.copysign", "copysign(%0, %1)"},
    {"math.floor", "floor(%0)"},
    {"math.fma", "fma(%0, %1, %2)"},
    {"math.roundeven", "rint(%0)"},
    {"math.sqrt", "square_root(%0)"},
    {"math.trunc", "trunc(%0)"},
};

static_assert(simt::kLanes == 32);

static StringRef phraseFor(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return "%0 == %1";
  case arith::CmpIPredicate::ne:
    return "%0 != %1";
  case arith::CmpIPredicate::slt:
    return "%s0 < %s1";
  case arith::CmpIPredicate::sle:
    return "%s0 <= %s1";
  case arith::CmpIPredicate::sgt:
    return "%s0 > %s1";
  case arith::CmpIPredicate::sge:
    return "%s0 >= %s1";
  case arith::CmpIPredicate::ult:
    return "%u0 < %u1";
  case arith::CmpIPredicate::ule:
    return "%u0 <= %u1";
  case arith::CmpIPredicate::ugt:
    return "%u0 > %u1";
  case arith::CmpIPredicate::uge:
    return "%u0 >= %u1";
  }
  llvm_unreachable("unknown predicate");
}

static StringRef phraseFor(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return "false";
  case arith::CmpFPredicate::OEQ:
    return "%0 == %1";
  case arith::CmpFPredicate::OGT:
    return "%0 > %1";
  case arith::CmpFPredicate::OGE:
    return "%0 >= %1";
  case arith::CmpFPredicate::OLT:
    return "%0 < %1";
  case arith::CmpFPredicate::OLE:
    return "%0 <= %1";
  case arith::CmpFPredicate::ONE:
    return "%0 < %1 || %0 > %1";
  case arith::CmpFPredicate::ORD:
    return "%0 == %0 && %1 == %1";
  case arith::CmpFPredicate::UEQ:
    return "!(%0 < %1 || %0 > %1)";
  case arith::CmpFPredicate::UGT:
    return "!(%0 <= %1)";
  case arith::CmpFPredicate::UGE:
    return "!(%0 < %1)";
  case arith::CmpFPredicate::ULT:
    return "!(%0 >= %1)";
  case arith::CmpFPredicate::ULE:
    return "!(%0 > %1)";
  case arith::CmpFPredicate::UNE:
    return "%0 != %1";
  case arith::CmpFPredicate::UNO:
    return "%0 != %0 || %1 != %1";
  case arith::CmpFPredicate::AlwaysTrue:
    return "true";
  }
  llvm_unreachable("unknown predicate");
}

/// Empty: there is none.
static StringRef phraseFor(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return phraseFor(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return phraseFor(compare.getPredicate());
  Type result = op->getNumResults() == 1 ? op->getResult(0).getType() : Type();
  if (isa<arith::FPToSIOp>(op))
    return result.isInteger(32)   ? "to_int(%0)"
           : result.isInteger(64) ? "to_long(%0)"
                                  : "";
  if (isa<arith::BitcastOp>(op))
    return isa<FloatType>(result) ? "from_bits(%0)" : "to_bits(%0)";
  if (isa<arith::SelectOp>(op))
    return result.isF64() || result.isBF16() ? "choose(%0, %1, %2)"
                                             : "%0 ? %1 : %2";
  if (isa<arith::TruncIOp>(op))
    return result.isInteger(1) ? "(%0 & 1) != 0" : "%T(%0)";
  StringRef name = op->getName().getStringRef();
  for (const Phrase &phrase : kPhrases)
    if (phrase.op == name)
      return phrase.text;
  return "";
}

//===----------------------------------------------------------------------===//
// Types and constants
//===----------------------------------------------------------------------===//

/// Empty: Metal has none.
static StringRef typeName(Type type) {
  if (type.isIndex())
    return "long";
  if (auto integer = dyn_cast<IntegerType>(type))
    switch (integer.getWidth()) {
    case 1:
      return "bool";
    case 8:
      return "uchar";
    case 16:
      return "ushort";
    case 32:
      return "uint";
    case 64:
      return "ulong";
    }
  return type.isF32()    ? "float"
         : type.isF64()  ? "f64"
         : type.isBF16() ? "bf16"
                         : "";
}

static std::string asSigned(Type type, StringRef value) {
  if (type.isIndex())
    return value.str();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return ("-int(" + value + ")").str();
  case 8:
    return ("int(char(" + value + "))").str();
  case 16:
    return ("int(short(" + value + "))").str();
  case 32:
    return ("int(" + value + ")").str();
  default:
    return ("long(" + value + ")").str();
  }
}

static std::string asUnsigned(Type type, StringRef value) {
  if (type.isIndex())
    return ("ulong(" + value + ")").str();
  return type.getIntOrFloatBitWidth() < 32 ? ("uint(" + value + ")").str()
                                           : value.str();
}

/// Empty: there are no words for it.
static std::string literal(Type type, Attribute value) {
  if (auto real = dyn_cast<FloatAttr>(value)) {
    APFloat number = real.getValue();
    uint64_t bits = number.bitcastToAPInt().getZExtValue();
    if (type.isF64())
      return llvm::formatv("f64_of({0:x}ul)", bits);
    if (type.isBF16())
      return llvm::formatv("from_bits(ushort({0:x}))", bits);
    if (!type.isF32())
      return "";
    if (!number.isFinite() || number.isDenormal())
      return llvm::formatv("as_type<float>({0:x}u)", bits);
    SmallString<32> digits;
    number.toString(digits);
    if (!StringRef(digits).contains_insensitive('e') &&
        !StringRef(digits).contains('.'))
      digits += ".0";
    return (number.isNegative() ? "(" + digits + "f)" : digits + "f").str();
  }
  auto whole = dyn_cast<IntegerAttr>(value);
  if (!whole)
    return "";
  if (type.isInteger(1))
    return whole.getValue().isZero() ? "false" : "true";
  if (type.isIndex()) {
    int64_t number = whole.getInt();
    if (number == INT64_MIN) // 9223372036854775808 has no type to be negated
      return "(" + std::to_string(INT64_MIN + 1) + "l - 1)";
    std::string digits = std::to_string(number);
    if (!llvm::isInt<32>(number))
      digits += "l";
    return number < 0 ? "(" + digits + ")" : digits;
  }
  std::string digits = std::to_string(whole.getValue().getZExtValue());
  return type.getIntOrFloatBitWidth() == 64 ? digits + "ul"
         : type.getIntOrFloatBitWidth() == 32
             ? digits + "u"
             : typeName(type).str() + "(" + digits + ")";
}

/// The address space that `place` points into.
static StringRef spaceOf(Value place) {
  while (auto view = place.getDefiningOp<tile::ViewOp>())
    place = view.getBase();
  if (place.getDefiningOp<memref::GetGlobalOp>())
    return "constant";
  auto type = dyn_cast<MemRefType>(place.getType());
  return type && type.getMemorySpace() ? "threadgroup" : "device";
}

/// Whether the place of an element follows from its indices alone.
static bool hasKnownStrides(MemRefType memory) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(memory.getStridesAndOffset(strides, offset)) &&
         ShapedType::isStatic(offset) && ShapedType::isStaticShape(strides);
}

static std::string tableName(StringRef symbol) {
  std::string name = "table_" + symbol.str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return name;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

class KernelPrinter {
public:
  KernelPrinter(mlir::gpu::GPUFuncOp kernel, llvm::raw_ostream &out)
      : kernel(kernel), out(out) {}

  LogicalResult print();

private:
  /// The text of a value: a variable, or a constant itself.
  std::string name(Value value) {
    std::string &known = names[value];
    if (known.empty())
      known = "v" + std::to_string(names.size() - 1);
    return known;
  }
  /// Empty: Metal has no such type.
  std::string typeOf(Value value) const;
  llvm::raw_ostream &line() { return out.indent(2 * depth); }
  /// Begins a statement that gives `value` its variable.
  llvm::raw_ostream &define(Value value) {
    bool isPlace = isa<MemRefType, tile::MemoryType>(value.getType());
    return line() << (isPlace ? "" : "const ") << typeOf(value)
                  << (isPlace ? "" : " ") << name(value) << " = ";
  }
  std::string fill(StringRef phrase, Operation *op);
  /// The element of `memory` at `indices`.
  std::string element(Value memory, ValueRange indices);

  LogicalResult printClosure();
  LogicalResult print(Block &block);
  LogicalResult print(Operation *op);
  LogicalResult print(scf::ForOp loop);
  LogicalResult print(scf::IfOp branch);
  void print(mlir::gpu::ShuffleOp shuffle);
  void print(memref::ViewOp view);
  void print(tile::ViewOp view);
  /// Gives `variables` the operands of `yield`, as if at once.
  void assign(ValueRange variables, Operation *yield);
  LogicalResult refuse(Operation *op) {
    return op->emitOpError("has no words in Metal's language");
  }

  mlir::gpu::GPUFuncOp kernel;
  llvm::raw_ostream &out;
  llvm::DenseMap<Value, std::string> names;
  unsigned depth = 1;
};

} // namespace

std::string KernelPrinter::typeOf(Value value) const {
  if (isa<tile::MemoryType>(value.getType()))
    return (spaceOf(value) + " uchar *").str();
  auto memory = dyn_cast<MemRefType>(value.getType());
  if (!memory)
    return typeName(value.getType()).str();
  StringRef element = typeName(memory.getElementType());
  if (element.empty() || !hasKnownStrides(memory))
    return "";
  return (spaceOf(value) + " " + element + " *").str();
}

std::string KernelPrinter::fill(StringRef phrase, Operation *op) {
  std::string text;
  while (!phrase.empty()) {
    char c = phrase.front();
    phrase = phrase.drop_front();
    char kind = phrase.empty() ? ' ' : phrase.front();
    if (c != '%' || kind == ' ') {
      text += c;
      continue;
    }
    phrase = phrase.drop_front();
    if (kind == 'T') {
      text += typeName(op->getResult(0).getType());
      continue;
    }
    if (kind == 't') {
      Type type = op->getResult(0).getType();
      text += type.isF32() ? "f32" : type.isF64() ? "f64" : "bf16";
      continue;
    }
    bool isPlain = kind != 's' && kind != 'u';
    Value operand = op->getOperand((isPlain ? kind : phrase.front()) - '0');
    if (!isPlain)
      phrase = phrase.drop_front();
    text += isPlain       ? name(operand)
            : kind == 's' ? asSigned(operand.getType(), name(operand))
                          : asUnsigned(operand.getType(), name(operand));
  }
  return text;
}

std::string KernelPrinter::element(Value memory, ValueRange indices) {
  auto [strides, offset] =
      cast<MemRefType>(memory.getType()).getStridesAndOffset();
  std::string at;
  for (auto [index, stride] : llvm::zip_equal(indices, strides)) {
    if (matchPattern(index, m_Zero()))
      continue;
    at += (at.empty() ? "" : " + ") + name(index);
    if (stride != 1)
      at += " * " + std::to_string(stride);
  }
  if (offset != 0 || at.empty())
    at += (at.empty() ? "" : " + ") + std::to_string(offset);
  return name(memory) + "[" + at + "]";
}

void KernelPrinter::print(mlir::gpu::ShuffleOp shuffle) {
  bool isAcross = shuffle.getMode() == mlir::gpu::ShuffleMode::XOR;
  define(shuffle.getShuffleResult())
      << (isAcross ? "lane_across(" : "lane_at(") << name(shuffle.getValue())
      << ", ushort(" << name(shuffle.getOffset()) << "));\n";
}

void KernelPrinter::print(memref::ViewOp view) {
  define(view) << '(' << typeOf(view) << ")(" << name(view.getSource()) << " + "
               << name(view.getByteShift()) << ");\n";
}

void KernelPrinter::print(tile::ViewOp view) {
  Value base = view.getBase();
  define(view.getPlace()) << '(' << typeOf(view.getPlace()) << ")(("
                          << spaceOf(base) << " uchar *)" << name(base) << " + "
                          << name(view.getByteOffset()) << ");\n";
}

void KernelPrinter::assign(ValueRange variables, Operation *yield) {
  // A variable that another one is given, after it has its own new value.
  llvm::SmallDenseSet<Value> given;
  SmallVector<std::string> values;
  for (auto [variable, value] :
       llvm::zip_equal(variables, yield->getOperands())) {
    values.push_back(name(value));
    if (given.contains(value)) {
      values.back() = "before_" + values.back();
      line() << "const " << typeOf(value) << ' ' << values.back() << " = "
             << name(value) << ";\n";
    }
    given.insert(variable);
  }
  for (auto [variable, value] : llvm::zip_equal(variables, values))
    if (name(variable) != value)
      line() << name(variable) << " = " << value << ";\n";
}

LogicalResult KernelPrinter::print(scf::ForOp loop) {
  for (auto [carried, first, result] : llvm::zip_equal(
           loop.getRegionIterArgs(), loop.getInitArgs(), loop.getResults())) {
    line() << typeOf(carried) << ' ' << name(carried) << " = " << name(first)
           << ";\n";
    std::string variable = name(carried);
    names[result] = std::move(variable);
  }
  Value i = loop.getInductionVar();
  line() << "for (" << typeOf(i) << ' ' << name(i) << " = "
         << name(loop.getLowerBound()) << "; " << name(i) << " < "
         << name(loop.getUpperBound()) << "; " << name(i)
         << " += " << name(loop.getStep()) << ") {\n";
  ++depth;
  if (failed(print(*loop.getBody())))
    return failure();
  assign(loop.getRegionIterArgs(), loop.getBody()->getTerminator());
  --depth;
  line() << "}\n";
  return success();
}

LogicalResult KernelPrinter::print(scf::IfOp branch) {
  for (Value result : branch.getResults())
    line() << typeOf(result) << ' ' << name(result) << ";\n";
  line() << "if (" << name(branch.getCondition()) << ") {\n";
  for (Region &region : branch->getRegions()) {
    if (region.empty())
      continue;
    if (region.getRegionNumber() > 0)
      line() << "} else {\n";
    ++depth;
    if (failed(print(region.front())))
      return failure();
    assign(branch.getResults(), region.front().getTerminator());
    --depth;
  }
  line() << "}\n";
  return success();
}

LogicalResult KernelPrinter::print(Operation *op) {
  for (Value result : op->getResults())
    if (typeOf(result).empty())
      return op->emitOpError("has a result of type ")
             << result.getType() << ", which Metal's language lacks";
  static constexpr StringLiteral kAllMemory =
      "(mem_flags::mem_device | mem_flags::mem_threadgroup);\n";
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](arith::ConstantOp constant) {
        names[constant] = literal(constant.getType(), constant.getValue());
        return names[constant].empty() ? refuse(op) : success();
      })
      .Case([&](memref::LoadOp load) {
        define(load) << element(load.getMemRef(), load.getIndices()) << ";\n";
        return success();
      })
      .Case([&](memref::StoreOp store) {
        line() << element(store.getMemRef(), store.getIndices()) << " = "
               << name(store.getValueToStore()) << ";\n";
        return success();
      })
      .Case([&](memref::GetGlobalOp table) {
        names[table] = tableName(table.getName());
        return success();
      })
      .Case([&](mlir::gpu::DynamicSharedMemoryOp) {
        names[op->getResult(0)] = "shared_memory";
        return success();
      })
      .Case([&](mlir::gpu::BarrierOp) {
        line() << "threadgroup_barrier" << kAllMemory;
        return success();
      })
      .Case([&](NVVM::SyncWarpOp) {
        line() << "simdgroup_barrier" << kAllMemory;
        return success();
      })
      .Case([&](mlir::gpu::ShuffleOp shuffle) {
        bool isKnown = shuffle.getMode() == mlir::gpu::ShuffleMode::XOR ||
                       shuffle.getMode() == mlir::gpu::ShuffleMode::IDX;
        if (!isKnown || !shuffle.getValid().use_empty())
          return refuse(op);
        print(shuffle);
        return success();
      })
      .Case<memref::ViewOp, tile::ViewOp>([&](auto view) {
        print(view);
        return success();
      })
      .Case<scf::ForOp, scf::IfOp>([&](auto around) { return print(around); })
      .Case<scf::YieldOp, mlir::gpu::ReturnOp>([](auto) { return success(); })
      .Default([&](Operation *) {
        StringRef phrase = phraseFor(op);
        if (phrase.empty())
          return refuse(op);
        std::string text = fill(phrase, op);
        define(op->getResult(0)) << text << ";\n";
        return success();
      });
}

LogicalResult KernelPrinter::print(Block &block) {
  for (Operation &op : block)
    if (failed(print(&op)))
      return failure();
  return success();
}

LogicalResult KernelPrinter::printClosure() {
  uint64_t bytes = 0;
  out << "struct " << kernel.getName() << "_closure {\n";
  for (BlockArgument argument : kernel.getArguments()) {
    std::string type = typeOf(argument);
    if (type.empty() || argument.getType().isInteger(1))
      return kernel.emitOpError("has a parameter of type ")
             << argument.getType() << ", which Metal's language lacks";
    line() << type << (StringRef(type).ends_with("*") ? "" : " ")
           << name(argument) << ";\n";
    bytes += 8;
  }
  out << "};\n";
  if (bytes > kMostClosureBytes)
    return kernel.emitOpError("has ")
           << kernel.getNumArguments()
           << " parameters but a launch takes at most "
           << kMostClosureBytes / 8;
  return success();
}

LogicalResult KernelPrinter::print() {
  out << "\n// "
      << kernel->getAttrOfType<StringAttr>(simt::kNameAttrName).getValue()
      << '\n';
  bool hasClosure = kernel.getNumArguments() > 0;
  if (hasClosure && failed(printClosure()))
    return failure();
  out << "[[kernel, max_total_threads_per_threadgroup(" << simt::kThreads
      << ")]] void\n"
      << kernel.getName() << '(';
  if (hasClosure)
    out << "constant " << kernel.getName()
        << "_closure &closure [[buffer(0)]],\n    ";
  auto shared = kernel->getAttrOfType<IntegerAttr>(simt::kSharedBytesAttrName);
  if (shared && shared.getInt() > 0)
    out << "threadgroup uchar *shared_memory [[threadgroup(0)]],\n    ";
  out << "uint thread_index [[thread_index_in_threadgroup]],\n"
      << "    uint group [[threadgroup_position_in_grid]]) {\n";
  for (BlockArgument argument : kernel.getArguments())
    define(argument) << "closure." << name(argument) << ";\n";
  if (failed(print(kernel.getBody().front())))
    return failure();
  out << "}\n";
  return success();
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// An element as an initialiser. Empty: there are no words for it.
static std::string initializer(Type type, Attribute value) {
  auto real = dyn_cast<FloatAttr>(value);
  if (!real)
    return literal(type, value);
  APFloat number = real.getValue();
  // A number made of bits is no constant expression there.
  if (type.isF32() && number.isInfinity())
    return number.isNegative() ? "-INFINITY" : "INFINITY";
  if (type.isF32())
    return number.isFinite() && !number.isDenormal() ? literal(type, value)
                                                     : "";
  uint64_t bits = number.bitcastToAPInt().getZExtValue();
  return type.isF64()    ? llvm::formatv("{{{0:x}ul}", bits).str()
         : type.isBF16() ? llvm::formatv("{{{0:x}}", bits).str()
                         : "";
}

static LogicalResult printTable(memref::GlobalOp table,
                                llvm::raw_ostream &out) {
  auto elements = dyn_cast_or_null<ElementsAttr>(table.getInitialValueAttr());
  Type type = table.getType().getElementType();
  if (!elements || typeName(type).empty())
    return table.emitOpError("has no words in Metal's language");
  out << "\nconstant " << typeName(type) << ' ' << tableName(table.getName())
      << "[] = {";
  for (auto [i, value] : llvm::enumerate(elements.getValues<Attribute>())) {
    std::string text = initializer(type, value);
    if (text.empty())
      return table.emitOpError("has an element that has no words in Metal's "
                               "language");
    out << (i % 8 ? " " : "\n    ") << text << ',';
  }
  out << "\n};\n";
  return success();
}

LogicalResult hone::printMetal(mlir::gpu::GPUModuleOp device,
                               llvm::raw_ostream &out) {
  out << kPrelude;
  for (auto table : device.getOps<memref::GlobalOp>())
    if (failed(printTable(table, out)))
      return failure();
  for (auto kernel : device.getOps<mlir::gpu::GPUFuncOp>())
    if (failed(KernelPrinter(kernel, out).print()))
      return failure();
  return success();
}
