//===- DeviceProgram.cpp - Compile tile IR and run it as PTX --------------===//
//
// See DeviceProgram.h.
//
//===----------------------------------------------------------------------===//

#include "test/targets/gpu/DeviceProgram.h"

#include "dialects/Tile/TileDialect.h"
#include "targets/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cstring>

using namespace mlir;
using namespace hone;

namespace {

/// Runs host code; values are 64 bits, addresses the device's.
class HostHalf {
public:
  HostHalf(ptx::Machine &machine, const ptx::Module &kernels, uint64_t arena,
           int64_t rows)
      : machine(machine), kernels(kernels), arena(arena), rows(rows) {}

  void run(Block &block);

  std::string error;

private:
  void run(Operation &op);
  void launch(mlir::gpu::LaunchFuncOp op);
  uint64_t at(Value value) { return values.lookup(value); }

  ptx::Machine &machine;
  const ptx::Module &kernels;
  uint64_t arena;
  int64_t rows;
  llvm::DenseMap<Value, uint64_t> values;
};

} // namespace

void HostHalf::launch(mlir::gpu::LaunchFuncOp op) {
  const ptx::Kernel *kernel = kernels.find(op.getKernelName().str());
  std::vector<uint64_t> arguments;
  for (Value operand : op.getKernelOperands())
    arguments.push_back(at(operand));
  std::vector<const void *> pointers;
  for (const uint64_t &argument : arguments)
    pointers.push_back(&argument);
  auto count = static_cast<uint32_t>(at(op.getGridSizeX()));
  auto threads = static_cast<uint32_t>(at(op.getBlockSizeX()));
  // No device takes an empty launch.
  if (count > 0 && error.empty())
    machine.launch(kernels, *kernel, {count, 1, 1}, {threads, 1, 1},
                   /*dynamicShared=*/48 * 1024, pointers.data(), error);
}

void HostHalf::run(Block &block) {
  for (Operation &op : block)
    run(op);
}

void HostHalf::run(Operation &op) {
  auto binary = [&](auto compute) {
    values[op.getResult(0)] =
        compute(at(op.getOperand(0)), at(op.getOperand(1)));
  };
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](arith::ConstantOp constant) {
        uint64_t bits = 0;
        if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
          bits = number.getValue().bitcastToAPInt().getZExtValue();
        else
          bits =
              cast<IntegerAttr>(constant.getValue()).getValue().getSExtValue();
        values[constant] = bits;
      })
      .Case<arith::AddIOp>([&](auto) { binary(std::plus<uint64_t>()); })
      .Case<arith::SubIOp>([&](auto) { binary(std::minus<uint64_t>()); })
      .Case<arith::MulIOp>([&](auto) { binary(std::multiplies<uint64_t>()); })
      .Case<arith::DivUIOp>([&](auto) { binary(std::divides<uint64_t>()); })
      .Case<arith::RemUIOp>([&](auto) { binary(std::modulus<uint64_t>()); })
      .Case<arith::MinUIOp>([&](auto) {
        binary([](uint64_t a, uint64_t b) { return std::min(a, b); });
      })
      .Case([&](tile::BaseOp base) { values[base] = arena; })
      .Case([&](tile::RowsOp op) { values[op] = rows; })
      .Case([&](tile::ViewOp view) {
        values[view] = at(view.getBase()) + at(view.getByteOffset());
      })
      .Case([&](scf::ForOp loop) {
        for (uint64_t i = at(loop.getLowerBound());
             i < at(loop.getUpperBound()); i += at(loop.getStep())) {
          values[loop.getInductionVar()] = i;
          run(*loop.getBody());
        }
      })
      .Case([&](arith::CmpIOp compare) {
        values[compare] = arith::applyCmpPredicate(
            compare.getPredicate(), APInt(64, at(compare.getLhs())),
            APInt(64, at(compare.getRhs())));
      })
      .Case([&](arith::SelectOp select) {
        values[select] = at(select.getCondition()) ? at(select.getTrueValue())
                                                   : at(select.getFalseValue());
      })
      .Case([&](scf::IfOp branch) {
        Block *taken =
            at(branch.getCondition()) ? branch.thenBlock() : branch.elseBlock();
        if (!taken)
          return;
        run(*taken);
        for (auto [result, value] : llvm::zip(
                 branch.getResults(), taken->getTerminator()->getOperands()))
          values[result] = at(value);
      })
      .Case([&](func::CallOp call) {
        auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
            call, call.getCalleeAttr());
        for (auto [argument, operand] :
             llvm::zip(callee.getArguments(), call.getOperands()))
          values[argument] = at(operand);
        run(callee.getBody().front());
      })
      .Case<tile::PrefetchOp, tile::ReleaseOp, memref::GetGlobalOp>([](auto) {})
      .Case<scf::YieldOp, func::ReturnOp>([](auto) {})
      .Case([&](mlir::gpu::LaunchFuncOp op) { launch(op); })
      .Default([](Operation *op) {
        llvm::report_fatal_error("the test runs no host code with " +
                                 op->getName().getStringRef());
      });
}

DeviceProgram::DeviceProgram(StringRef ir, int64_t arenaBytes,
                             StringRef targetName,
                             const hone::ptx::Options &options)
    : arenaBytes(arenaBytes) {
  llvm::ExitOnError check("cannot build the program under test: ");
  auto target = check(createTarget(TargetRequest::parse(targetName)));
  DialectRegistry registry;
  registerTargetDialects(registry);
  context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadDialect<tile::TileDialect, arith::ArithDialect,
                       func::FuncDialect, math::MathDialect,
                       memref::MemRefDialect, scf::SCFDialect>();
  context->loadAllAvailableDialects();
  module = parseSourceString<ModuleOp>(ir, context.get());
  PassManager pm(context.get());
  target->buildLoweringPipeline(pm);
  if (!module || failed(pm.run(*module)))
    check(llvm::createStringError("invalid IR:\n" + ir));
  for (auto binary : module->getOps<mlir::gpu::BinaryOp>())
    for (auto object : binary.getObjects().getAsRange<mlir::gpu::ObjectAttr>())
      code += object.getObject().getValue();

  hone::ptx::Options settings = options;
  settings.memoryBytes = 1 << 28;
  executor = hone::ptx::Machine::create(settings);
  std::string error;
  kernels = executor->load(code, error);
  if (!kernels)
    check(llvm::createStringError("no PTX: " + error + "\n" + code));
}

DeviceProgram::~DeviceProgram() = default;

std::string DeviceProgram::run(void *arena, int64_t rows) {
  hone::ptx::Memory &memory = executor->memory();
  uint64_t address = memory.allocate(arenaBytes);
  memcpy(memory.data(address), arena, arenaBytes);
  memory.shadow().setWritten(memory.offset(address), arenaBytes, true);
  HostHalf host(*executor, *kernels, address, rows);
  auto entry = cast<func::FuncOp>(
      SymbolTable::lookupSymbolIn(module->getOperation(), "hone_entry_main"));
  host.run(entry.getBody().front());
  memcpy(arena, memory.data(address), arenaBytes);
  memory.free(address);
  return host.error;
}
