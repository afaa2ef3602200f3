//===- TileProgram.cpp - Compile tile IR and run it in this process -------===//
//
// See TileProgram.h.
//
//===----------------------------------------------------------------------===//

#include "test/targets/TileProgram.h"

#include "device/Device.h"
#include "dialects/Tile/TileDialect.h"
#include "targets/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"

#include <cstring>

using namespace hone;

static constexpr int64_t kThreads = 2;

/// Runs iterations one by one, the last first. Memory is the test's own.
class TileProgram::BackwardDevice final : public rt::Device {
public:
  rt::Result<rt::DeviceMemory> allocate(uint64_t) override {
    return rt::DeviceMemory();
  }
  rt::Result<hone_frame> load(const hone_module &module,
                              const rt::MappedWeights &weights) override {
    kernels = module.kernels;
    hone_frame frame = {};
    frame.device = handle();
    frame.weights = weights.addresses;
    return frame;
  }
  void launch(uint32_t kernel, void *closure, int64_t count) override {
    for (int64_t i = count - 1; i >= 0; --i)
      kernels[kernel].task(closure, i, i % kThreads);
  }
  void observe(rt::KernelObserver *) override {}
  bool isHostVisible() const override { return true; }
  void copyIn(char *to, const void *from, uint64_t bytes) override {
    memcpy(to, from, bytes);
  }
  rt::Status copyOut(void *to, const char *from, uint64_t bytes) override {
    memcpy(to, from, bytes);
    return rt::Status::ok();
  }
  void copy(char *to, const char *from, uint64_t bytes) override {
    memmove(to, from, bytes);
  }
  rt::Status wait() override { return rt::Status::ok(); }

private:
  void free(char *, uint64_t) override {}

  const hone_kernel *kernels = nullptr;
};

std::string hone::entryFunction(llvm::StringRef body) {
  return (R"(
func.func @hone_entry_main() attributes {tile.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %arena = tile.base arena : !tile.memory
  %rows = tile.rows : index
)" + body +
          "\n  return\n}\n")
      .str();
}

std::string hone::arenaView(llvm::StringRef name, int64_t offset,
                            llvm::StringRef type) {
  return llvm::formatv("%{0}_at = arith.constant {1} : index\n"
                       "%{0} = tile.view %arena[%{0}_at] : !tile.memory -> "
                       "{2}\n",
                       name, offset, type);
}

bool hone::canRun(llvm::StringRef target) {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (target == "x86-64-v4")
    return features.lookup("avx512f") && features.lookup("avx512vl") &&
           features.lookup("avx512bw") && features.lookup("avx512dq") &&
           features.lookup("avx512cd");
  if (target == "x86-64-v3")
    return features.lookup("avx2") && features.lookup("fma") &&
           features.lookup("bmi2") && features.lookup("f16c");
  return target == "native" || (target == "x86-64" && features.count("sse2"));
}

ModuleDescription TileProgram::defaultDescription() {
  ItemDescription item;
  item.run = "hone_entry_main";
  ModuleDescription description;
  description.schedules.emplace_back();
  description.schedules.back().items = {item};
  return description;
}

LoadedModule hone::compileTiles(llvm::StringRef ir, llvm::StringRef targetName,
                                ModuleDescription description) {
  llvm::ExitOnError check("cannot build the program under test: ");
  auto target = check(createTarget(TargetRequest::parse(targetName)));

  mlir::DialectRegistry registry;
  registerTargetDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect, mlir::arith::ArithDialect,
                      mlir::func::FuncDialect, mlir::math::MathDialect,
                      mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(ir, &context);
  mlir::PassManager pm(&context);
  target->buildLoweringPipeline(pm);
  if (!module || failed(pm.run(*module)))
    check(llvm::createStringError("invalid IR:\n" + ir));

  return check(LoadedModule::load(*module, *target, description));
}

TileProgram::TileProgram(llvm::StringRef ir, llvm::StringRef target,
                         ModuleDescription description)
    : loaded(compileTiles(ir, target, std::move(description))) {
  device = std::make_unique<BackwardDevice>();
  scratch.resize(loaded->thread_bytes * kThreads + 64);
}

TileProgram::~TileProgram() = default;

void TileProgram::run(void *arena, int64_t rows, const void *const *weights) {
  hone_frame frame = device->load(*loaded, {weights, {}}).value();
  frame.arena = frame.batch = frame.work = static_cast<char *>(arena);
  frame.thread_scratch = align64(scratch.data());
  frame.rows = rows;
  loaded->schedules[0].items[0].run(&frame, nullptr);
}
