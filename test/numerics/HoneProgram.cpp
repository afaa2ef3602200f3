//===- HoneProgram.cpp - Compile hone IR and run it in this process -------===//
//
// See HoneProgram.h.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/HoneProgram.h"

#include "passes/Passes.h"
#include "runtime/src/base/Dtype.h"
#include "runtime/src/threads/Pool.h"
#include "targets/Target.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace hone;

static char *align64(std::vector<char> &storage) {
  return reinterpret_cast<char *>(
      llvm::alignTo(reinterpret_cast<uintptr_t>(storage.data()), 64));
}

static char elementCode(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
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
  auto target = check(createTarget(TargetRequest::parse("native")));

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<HoneDialect>();
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
    if (auto output = llvm::dyn_cast<OutputOp>(op))
      elements[("output." + output.getName()).str()] =
          elementCode(output.getValue().getType());
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
  arenaBytes = module->getOperation()
                   ->getAttrOfType<mlir::IntegerAttr>(
                       HoneDialect::getArenaBytesAttrName())
                   .getInt();

  mlir::PassManager lowering(&context);
  ConvertToTilesOptions options;
  options.panelWidth = target->panelWidth(mlir::Float32Type::get(&context));
  options.bfloat16Products = bfloat16Products;
  lowering.addPass(createConvertToTiles(options));
  target->buildLoweringPipeline(lowering);
  if (failed(lowering.run(*module)))
    check(llvm::createStringError("cannot lower:\n" + ir));

  ModuleDescription description;
  description.entries = {{"test", "hone_entry_test"}};
  llvm::SmallString<64> path;
  check(llvm::errorCodeToError(
      llvm::sys::fs::createTemporaryFile("hone-numerics", "o", path)));
  check(target->emit(*module, description, EmitKind::object, path));
  load(path);
  llvm::sys::fs::remove(path);
  // Gradients may stand behind the arena.
  int64_t bytes = std::max(arenaBytes, gradientEnd);
  arenaStorage.resize(bytes + 64);
  arena = align64(arenaStorage);
  reset();
}

HoneProgram::~HoneProgram() = default;

void HoneProgram::load(llvm::StringRef objectFile) {
  llvm::ExitOnError check("cannot load the program under test: ");
  auto object =
      check(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(objectFile)));
  loader = check(llvm::orc::LLJITBuilder().create());
  llvm::orc::JITDylib &library = loader->getMainJITDylib();
  library.addGenerator(
      check(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          loader->getDataLayout().getGlobalPrefix())));
  check(library.define(llvm::orc::absoluteSymbols(
      {{loader->mangleAndIntern("hone_parallel_for"),
        {llvm::orc::ExecutorAddr::fromPtr(&hone_parallel_for),
         llvm::JITSymbolFlags::Exported}}})));
  check(loader->addObjectFile(std::move(object)));
  compiled = check(loader->lookup("hone_compiled_module"))
                 .toPtr<const hone_module *>();
}

void HoneProgram::reset() {
  // Every float and double whose bytes are all ones is a NaN.
  memset(arena, 0xff, arenaBytes);
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
  std::vector<char> scratch(compiled->thread_bytes * threads + 64, '\xff');
  std::vector<const void *> pointers;
  for (const std::vector<char> &tensor : weights)
    pointers.push_back(tensor.data());
  hone_frame frame = {pool.value()->handle(), arena, align64(scratch),
                      pointers.data(), rows};
  compiled->entries[0].run(&frame);
}
