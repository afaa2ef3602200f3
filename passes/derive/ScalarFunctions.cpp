//===- ScalarFunctions.cpp - Formulas of a step on a few numbers ----------===//
//
// Written as IR, since that is how they are read, tested and compiled: a
// formula is a function of a .mlir file.
//
//===----------------------------------------------------------------------===//

#include "passes/derive/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace hone {

namespace {

/// Text of func.func ops, and its path for locations.
struct FormulaText {
  StringRef path, text;
};

} // namespace

static constexpr FormulaText kFiles[] = {
    {
        "passes/derive/ScalarFunctions.mlir",
#include "passes/derive/ScalarFunctions.mlir.inc"
    },
    {
        "passes/selection/SelectionFunctions.mlir",
#include "passes/selection/SelectionFunctions.mlir.inc"
    }};

/// One function with vectors of `length` elements, after as many empty lines
/// as the file has before it; no text if there is none of that name. A step
/// needs few of them, and planning makes many steps.
static std::pair<StringRef, std::string> formulaFor(StringRef symbol,
                                                    int64_t length) {
  const std::string start = ("func.func private @" + symbol + "(").str();
  const StringRef end = "\n}\n", word = "LENGTH";
  for (const auto &[path, all] : kFiles) {
    const size_t begin = all.find(start);
    if (begin == StringRef::npos)
      continue;
    std::string text(all.take_front(begin).count('\n'), '\n');
    text += all.slice(begin, all.find(end, begin) + end.size());
    for (size_t at; (at = text.find(word)) != std::string::npos;)
      text.replace(at, word.size(), std::to_string(length));
    return {path, std::move(text)};
  }
  return {};
}

/// Elements of the first vector among `types`, tensors or memory.
static std::optional<int64_t> lengthOf(TypeRange types) {
  for (Type type : types)
    if (auto shaped = dyn_cast_or_null<ShapedType>(type);
        shaped && shaped.getRank() == 1)
      return shaped.getDimSize(0);
  return std::nullopt;
}

/// Null with a diagnostic if it is none. Not verified: a formula's callees are
/// in other texts.
static OwningOpRef<ModuleOp> parseFormula(ModuleOp module, StringRef text,
                                          StringRef path = "") {
  auto parsed = parseSourceString<ModuleOp>(
      text, ParserConfig(module.getContext(), /*verifyAfterParse=*/false),
      path);
  if (!parsed)
    module.emitError("a formula does not parse");
  return parsed;
}

/// `text` is of one function, of any name. A part's name, which may be in
/// `name`, need not be one that MLIR's text has without quotes.
static FailureOr<func::FuncOp> addFormula(ModuleOp module, StringRef name,
                                          StringRef text) {
  OwningOpRef<ModuleOp> parsed = parseFormula(module, text);
  if (!parsed)
    return failure();
  auto function = *parsed->getOps<func::FuncOp>().begin();
  function.setSymName(("scalar." + name).str());
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  return cast<func::FuncOp>(builder.clone(*function));
}

FailureOr<func::FuncOp> getLayerNorms(ModuleOp module, StringRef name,
                                      ArrayRef<ParameterRange> ranges,
                                      int64_t parameters) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "func.func private @norms(%squares: memref<" << parameters
     << "xf64>, %norms: memref<" << ranges.size() << "xf64>) {\n"
     << "%none = arith.constant 0.0 : f64\n%step = arith.constant 1 : index\n";
  for (auto [i, range] : llvm::enumerate(ranges))
    os << llvm::formatv(R"(
%layer{0} = arith.constant {0} : index
%begin{0} = arith.constant {1} : index
%end{0} = arith.constant {2} : index
%sum{0} = scf.for %i = %begin{0} to %end{0} step %step iter_args(%sum = %none) -> f64 {{
  %square = memref.load %squares[%i] : memref<{3}xf64>
  %after = arith.addf %sum, %square : f64
  scf.yield %after : f64
}
%norm{0} = math.sqrt %sum{0} : f64
memref.store %norm{0}, %norms[%layer{0}] : memref<{4}xf64>
)",
                        i, range.begin, range.end, parameters, ranges.size());
  os << "return\n}\n";
  return addFormula(module, name, text);
}

FailureOr<func::FuncOp> getConstants(ModuleOp module, StringRef name,
                                     ArrayRef<double> numbers) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "func.func private @constants(%numbers: memref<" << numbers.size()
     << "xf64>) {\n";
  for (auto [i, number] : llvm::enumerate(numbers))
    os << llvm::formatv(R"(
%i{0} = arith.constant {0} : index
%c{0} = arith.constant {1} : f64
memref.store %c{0}, %numbers[%i{0}] : memref<{2}xf64>
)",
                        i, llvm::formatv("{0:E17}", number).str(),
                        numbers.size());
  os << "return\n}\n";
  return addFormula(module, name, text);
}

FailureOr<func::FuncOp> getScalarFunction(ModuleOp module, StringRef name,
                                          TypeRange operands, Type result) {
  const std::string symbol = ("scalar." + name).str();
  SmallVector<Type> types(operands);
  types.push_back(result);
  std::optional<int64_t> wanted = lengthOf(types);
  const int64_t length = wanted.value_or(1);
  const std::string ofLength = symbol + "." + std::to_string(length);
  std::string own;
  for (const std::string &name : {symbol, ofLength}) {
    own = name;
    Operation *known = module.lookupSymbol(own);
    if (!known)
      break;
    auto function = dyn_cast<func::FuncOp>(known);
    auto there = function ? lengthOf(function.getArgumentTypes()) : wanted;
    if (function && (!there || there == wanted))
      return function;
    if (!function || own == ofLength)
      return known->emitOpError("has the name '@")
             << own << "', which scheduling defines; give it another name";
  }
  auto [path, text] = formulaFor(symbol, length);
  if (text.empty())
    return module.emitError("there is no formula '") << name << "'";
  OwningOpRef<ModuleOp> parsed = parseFormula(module, text, path);
  if (!parsed)
    return failure();
  auto function = parsed->lookupSymbol<func::FuncOp>(symbol);
  LogicalResult found = success();
  function.walk([&](func::CallOp call) {
    StringRef callee = call.getCallee();
    callee.consume_front("scalar.");
    auto called = getScalarFunction(module, callee, types, result);
    if (failed(called))
      found = failure();
    else
      call.setCallee(called->getSymName());
  });
  if (failed(found))
    return failure();
  function.setSymName(own);
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  return cast<func::FuncOp>(builder.clone(*function));
}

} // namespace hone
