//===- EntryProgram.cpp - One entry of a module, run in this process ------===//
//
// See EntryProgram.h.
//
//===----------------------------------------------------------------------===//

#include "compiler/selfcheck/EntryProgram.h"

#include "base/Dtype.h"
#include "compiler/emit/ModuleSummary.h"
#include "device/HostDevice.h"
#include "device/OpenDevice.h"
#include "dialects/Hone/Sizes.h"
#include "passes/Passes.h"
#include "passes/kernels/BlockFunctions.h"

#include "mlir/Pass/PassManager.h"

#include <cstring>

using namespace hone;

static char elementCode(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  if (element.isInteger(64))
    return 'l';
  if (element.isBF16())
    return 'b';
  if (element.isInteger(8))
    return 'c';
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
static void encode(llvm::ArrayRef<double> values, char *to) {
  for (size_t i = 0; i < values.size(); ++i) {
    T value = static_cast<T>(values[i]);
    memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

/// Reads the facts that lowering erases.
void EntryProgram::describe(mlir::ModuleOp placed) {
  for (RegionOp region : placed.getOps<RegionOp>()) {
    offsets[region.getName()] = region.getOffset();
    if (std::optional<mlir::Type> element = region.getElement())
      elements[region.getName()] = elementCode(*element);
  }
  placed.walk([&](mlir::Operation *op) {
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
  arenaBytes = bytesOf(placed, HoneDialect::getArenaBytesAttrName());
  // The entry, or else the first function of scalars that a schedule calls.
  mlir::TypeRange arguments, results;
  auto entries = placed.getOps<EntryOp>();
  if (!entries.empty()) {
    EntryOp entry = *entries.begin();
    function = entryFunctionName(entry.getSymName());
    arguments = entry.getArgumentTypes();
    results = entry.getResultTypes();
    // Nothing else is above the regions of a module without a schedule.
    work = arenaBytes - bytesOf(entry, HoneDialect::getScratchBytesAttrName());
  } else {
    placed.walk([&](ScalarOp op) {
      function = scalarEntryName(op.getFunction());
      isScalar = true;
      arguments = op.getOperandTypes();
      results = op.getResultTypes();
    });
  }
  boundaryEnd = llvm::alignTo(std::max(arenaBytes, gradientEnd), 64);
  const int64_t rows = *mostRows(placed); // it was placed
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
}

llvm::Expected<EntryProgram> EntryProgram::build(mlir::ModuleOp module,
                                                 const Target &target) {
  target.setNumerics(module);
  mlir::PassManager placement(module.getContext());
  placement.addPass(createPlace());
  placement.addPass(createVerifyPlacement());
  if (failed(placement.run(module)))
    return llvm::createStringError("the module cannot be placed");
  EntryProgram program;
  program.describe(module);
  auto parameters = ParameterTable::build(module);
  if (failed(parameters))
    return llvm::createStringError("the module's parameters disagree");
  std::vector<WeightDescription> weights = describeWeights(*parameters);

  mlir::PassManager lowering(module.getContext());
  lowering.addPass(createConvertToTiles(target.blocks(), target.kernels()));
  lowering.addPass(createVerifyTiles(target.hasFloat64(), target.kernels()));
  target.buildLoweringPipeline(lowering);
  if (failed(lowering.run(module)))
    return llvm::createStringError("the module cannot be lowered");

  ModuleDescription description;
  ItemDescription item;
  item.run = program.function;
  description.schedules.emplace_back();
  description.schedules.back().items = {item};
  description.weights = std::move(weights);
  auto loaded = LoadedModule::load(module, target, description);
  if (!loaded)
    return loaded.takeError();
  program.loaded = std::move(*loaded);
  program.arenaStorage.resize(program.boundaryEnd + 64);
  program.arena = align64(program.arenaStorage.data());
  program.reset();
  return program;
}

void EntryProgram::reset() {
  // Every float of any width whose bytes are all ones is a NaN.
  memset(arena, 0xff, boundaryEnd);
  auto gradient = offsets.find("gradient");
  if (gradient != offsets.end())
    memset(arena + gradient->second, 0, gradientBytes);
}

char *EntryProgram::at(llvm::StringRef region) const {
  return arena + offsets.at(region);
}

/// An unknown region has the element type of gradients.
char EntryProgram::elementOf(llvm::StringRef region) const {
  auto found = elements.find(region);
  return found == elements.end() ? elements.at("gradient") : found->second;
}

void EntryProgram::write(llvm::StringRef region,
                         llvm::ArrayRef<double> values) {
  char element = elementOf(region);
  (element == 'b'   ? encode<Bfloat16>
   : element == 'f' ? encode<float>
   : element == 'l' ? encode<int64_t>
   : element == 'c' ? encode<uint8_t>
                    : encode<double>)(values, at(region));
}

void EntryProgram::write(llvm::StringRef region,
                         llvm::ArrayRef<int32_t> values) {
  memcpy(at(region), values.data(), values.size() * sizeof(int32_t));
}

std::vector<double> EntryProgram::read(llvm::StringRef region,
                                       size_t count) const {
  std::vector<double> values(count);
  char element = elementOf(region);
  rt::Dtype dtype = element == 'b'   ? rt::Dtype::BF16
                    : element == 'f' ? rt::Dtype::F32
                                     : rt::Dtype::F64;
  for (size_t i = 0; i < count; ++i)
    values[i] = element == 'c' ? static_cast<uint8_t>(at(region)[i])
                               : rt::loadAsDouble(dtype, at(region), i);
  return values;
}

std::vector<int32_t> EntryProgram::readIntegers(llvm::StringRef region,
                                                size_t count) const {
  std::vector<int32_t> values(count);
  memcpy(values.data(), at(region), count * sizeof(int32_t));
  return values;
}

static void check(const rt::Status &status) {
  if (!status.isOk())
    llvm::report_fatal_error(status.render().c_str());
}

template <typename T> static T check(rt::Result<T> result) {
  check(result.status());
  return std::move(result.value());
}

void EntryProgram::run(int64_t rows, rt::Pool &pool) {
  // Functions of scalars are the host's everywhere.
  if (loaded->device_target && !isScalar) {
    auto device =
        check(rt::openDevice(*loaded, 0, static_cast<uint64_t>(boundaryEnd)));
    return run(rows, *device, /*scratchBytes=*/0);
  }
  rt::HostDevice device(pool);
  run(rows, device, loaded->thread_bytes * pool.threads());
}

void EntryProgram::run(int64_t rows, rt::Device &device,
                       uint64_t scratchBytes) {
  if (weights.size() < loaded->weight_count)
    llvm::report_fatal_error("the entry's weights are not set");
  hone_frame frame = check(device.load(*loaded, {weights.data(), {}}));
  const std::string noise(scratchBytes, '\xff');
  if (frame.thread_scratch)
    device.copyIn(frame.thread_scratch, noise.data(), noise.size());
  const auto bytes = static_cast<uint64_t>(boundaryEnd);
  rt::DeviceMemory own;
  char *base = arena;
  const bool isCopied = !device.isHostVisible() && !isScalar;
  if (isCopied) {
    own = check(device.allocate(bytes));
    base = own.address();
    device.copyIn(base, arena, bytes);
  }
  std::vector<char *> values, numbers;
  for (int64_t offset : boundary) {
    values.push_back(base + offset);
    numbers.push_back(arena + offset);
  }
  frame.arena = frame.batch = base;
  frame.work = base + work;
  frame.rows = rows;
  frame.numbers = numbers.data();
  loaded->schedules[0].items[0].run(&frame, values.data());
  if (isCopied)
    check(device.copyOut(arena, base, bytes));
  check(device.wait());
}
