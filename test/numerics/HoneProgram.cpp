//===- HoneProgram.cpp - Compile hone IR and run it in this process -------===//
//
// See HoneProgram.h.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/HoneProgram.h"

#include "passes/Passes.h"
#include "passes/kernels/BlockFunctions.h"
#include "runtime/src/base/Dtype.h"
#include "runtime/src/threads/Pool.h"
#include "targets/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cstdlib>

using namespace hone;

std::string hone::targetUnderTest() {
  const char *given = std::getenv("HONE_TARGET");
  return given ? given : "native";
}

static char elementCode(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  if (element.isInteger(64))
    return 'l';
  if (element.isBF16())
    return 'b';
  return element.isF32() ? 'f' : element.isF64() ? 'd' : 'i';
}

namespace {
/// A number that has been rounded to bfloat16.
struct Bfloat16 {
  uint16_t bits;
  explicit Bfloat16(double value)
      : bits(rt::floatToBfloat16(static_cast<float>(value))) {}
};
} // namespace

template <typename T>
static std::vector<char> encode(const std::vector<double> &values) {
  std::vector<char> bytes(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value = static_cast<T>(values[i]);
    memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

HoneProgram::HoneProgram(llvm::StringRef ir, bool bfloat16Products) {
  llvm::ExitOnError check("cannot build the program under test: ");
  auto target = check(createTarget(TargetRequest::parse(targetUnderTest())));

  mlir::DialectRegistry registry;
  registerTargetDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<HoneDialect, mlir::arith::ArithDialect,
                      mlir::func::FuncDialect, mlir::math::MathDialect,
                      mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(ir, &context);
  mlir::PassManager placement(&context);
  placement.addPass(createPlace());
  placement.addPass(createVerifyPlacement());
  if (!module || failed(placement.run(*module)))
    check(llvm::createStringError("invalid IR:\n" + ir));

  for (RegionOp region : module->getOps<RegionOp>())
    offsets[region.getName()] = region.getOffset();
  module->walk([&](mlir::Operation *op) {
    if (auto input = llvm::dyn_cast<InputOp>(op))
      elements[("input." + input.getName()).str()] =
          elementCode(input.getType());
    if (auto parameter = llvm::dyn_cast<ParameterOp>(op))
      elements["gradient"] = elementCode(parameter.getType());
    if (auto parameter = llvm::dyn_cast<ParameterOp>(op);
        parameter && parameter.getTrainable())
      elements["theta"] =
          parameter.getStored() ? 'b' : elementCode(parameter.getType());
    if (auto region = llvm::dyn_cast<RegionOp>(op);
        region && region.getName() == "gradient")
      std::tie(gradientBytes, gradientEnd) =
          std::pair(region.getBytes(), region.getOffset() + region.getBytes());
  });
  auto bytesOf = [](mlir::Operation *op, llvm::StringRef name) {
    return op->getAttrOfType<mlir::IntegerAttr>(name).getInt();
  };
  arenaBytes = bytesOf(*module, HoneDialect::getArenaBytesAttrName());
  // The entry, or else the first function of scalars that a schedule calls.
  std::string function;
  mlir::TypeRange arguments, results;
  auto entries = module->getOps<EntryOp>();
  if (!entries.empty()) {
    EntryOp entry = *entries.begin();
    function = entryFunctionName(entry.getSymName());
    arguments = entry.getArgumentTypes();
    results = entry.getResultTypes();
    // Nothing else is above the regions of a module without a schedule.
    work = arenaBytes - bytesOf(entry, HoneDialect::getScratchBytesAttrName());
  } else {
    module->walk([&](ScalarOp op) {
      function = scalarEntryName(op.getFunction());
      arguments = op.getOperandTypes();
      results = op.getResultTypes();
    });
  }
  boundaryEnd = llvm::alignTo(std::max(arenaBytes, gradientEnd), 64);
  int64_t rows = bytesOf(*module, HoneDialect::getMaxRowsAttrName());
  auto addBoundary = [&](llvm::StringRef kind, mlir::TypeRange types) {
    for (auto [i, type] : llvm::enumerate(types)) {
      std::string name = (kind + "." + llvm::Twine(i)).str();
      elements[name] = elementCode(type);
      offsets[name] = boundaryEnd;
      boundary.push_back(boundaryEnd);
      boundaryEnd += llvm::alignTo(bytesAtRows(type, rows), 64);
    }
  };
  addBoundary("argument", arguments);
  addBoundary("result", results);

  mlir::PassManager lowering(&context);
  if (bfloat16Products)
    (*module)->setAttr(HoneDialect::getRoundedProductsAttrName(),
                       mlir::UnitAttr::get(&context));
  lowering.addPass(createConvertToTiles(target->blocks(), target->kernels()));
  lowering.addPass(createVerifyTiles({target->hasFloat64()}));
  target->buildLoweringPipeline(lowering);
  if (failed(lowering.run(*module)))
    check(llvm::createStringError("cannot lower:\n" + ir));

  ModuleDescription description;
  ItemDescription item;
  item.run = function;
  description.schedules.emplace_back();
  description.schedules.back().items = {item};
  loaded = LoadedModule(*module, *target, description, hone_parallel_for);
  arenaStorage.resize(boundaryEnd + 64);
  arena = align64(arenaStorage.data());
  reset();
}

void HoneProgram::reset() {
  // Every float of any width whose bytes are all ones is a NaN.
  memset(arena, 0xff, boundaryEnd);
  auto gradient = offsets.find("gradient");
  if (gradient != offsets.end())
    memset(arena + gradient->second, 0, gradientBytes);
}

char *HoneProgram::at(llvm::StringRef region) const {
  return arena + offsets.at(region);
}

/// States have the element type of gradients.
char HoneProgram::elementOf(llvm::StringRef region) const {
  auto found = elements.find(region);
  return found == elements.end() ? elements.at("gradient") : found->second;
}

void HoneProgram::write(llvm::StringRef region,
                        const std::vector<double> &values) {
  char element = elementOf(region);
  std::vector<char> bytes = element == 'b'   ? encode<Bfloat16>(values)
                            : element == 'f' ? encode<float>(values)
                            : element == 'l' ? encode<int64_t>(values)
                                             : encode<double>(values);
  memcpy(at(region), bytes.data(), bytes.size());
}

void HoneProgram::write(llvm::StringRef region,
                        const std::vector<int32_t> &values) {
  memcpy(at(region), values.data(), values.size() * sizeof(int32_t));
}

std::vector<double> HoneProgram::read(llvm::StringRef region,
                                      size_t count) const {
  std::vector<double> values(count);
  char element = elementOf(region);
  rt::Dtype dtype = element == 'b'   ? rt::Dtype::BF16
                    : element == 'f' ? rt::Dtype::F32
                                     : rt::Dtype::F64;
  for (size_t i = 0; i < count; ++i)
    values[i] = rt::loadAsDouble(dtype, at(region), i);
  return values;
}

std::vector<int32_t> HoneProgram::readIntegers(llvm::StringRef region,
                                               size_t count) const {
  std::vector<int32_t> values(count);
  memcpy(values.data(), at(region), count * sizeof(int32_t));
  return values;
}

void HoneProgram::setWeights(std::vector<std::vector<double>> values) {
  weights.clear();
  for (const std::vector<double> &tensor : values)
    weights.push_back(elements.at("gradient") == 'f' ? encode<float>(tensor)
                                                     : encode<double>(tensor));
}

void HoneProgram::run(int64_t rows, unsigned threads) {
  auto pool = rt::Pool::create(threads);
  if (!pool.isOk())
    llvm::report_fatal_error("cannot start threads");
  std::vector<char> scratch(loaded->thread_bytes * threads + 64, '\xff');
  std::vector<const void *> pointers;
  for (const std::vector<char> &tensor : weights)
    pointers.push_back(tensor.data());
  std::vector<char *> values;
  for (int64_t offset : boundary)
    values.push_back(arena + offset);
  hone_frame frame = {
      pool.value()->handle(),  arena,           arena, arena + work,
      align64(scratch.data()), pointers.data(), rows};
  loaded->schedules[0].items[0].run(&frame, values.data());
}
