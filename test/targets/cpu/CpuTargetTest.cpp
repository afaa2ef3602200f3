//===- CpuTargetTest.cpp - Objects, their tables, and refusals ------------===//
//
// The tables are read back through runtime.h itself, so a field that moved on
// one side only is found here.
//
//===----------------------------------------------------------------------===//

#include "targets/Target.h"
#include "test/targets/TileProgram.h"

#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace hone;

static ModuleDescription sampleDescription() {
  ModuleDescription d = TileProgram::defaultDescription();
  d.config = R"({"model":"m"})";
  d.maxRows = 256;
  d.arenaBytes = 4096;
  ScheduleDescription &schedule = d.schedules[0];
  schedule.purpose = HONE_EVALUATE;
  schedule.batchSlots = 2;
  schedule.items[0].work = 640;
  schedule.items[0].values = {0, 1};
  ItemDescription send;
  send.kind = HONE_SEND;
  send.stage = 3;
  send.values = {1};
  send.peer = "upper";
  send.channel = "h";
  schedule.items.push_back(send);
  schedule.values = {{0, 8, 8, 0, 1, 0, 0}, {64, 8, 8, 0, 1, 0, 7}};
  schedule.settings = {{"seed", HONE_I64, 0}};
  d.trainableDtype = HONE_F64;
  d.trainableElements = 77;
  d.thetaOffset = 64;
  d.gradientOffset = 1024;
  d.states = {{"state0.codes", HONE_U8, {77}, 2048},
              {"state0.largest", HONE_F64, {1}, 2176}};
  d.inputs = {{"input_ids", HONE_I32, {256}, 128},
              {"targets", HONE_I32, {256}, 8}};
  d.weights = {{"model.norm.weight", HONE_BF16, {896}},
               {"lm_head.weight", HONE_F32, {1000, 896}}};
  d.trainables = {{"a.lora_A.weight", HONE_INIT_KAIMING_UNIFORM, {8, 9}, 5}};
  d.weightDigests = std::string("a\0b", 3);
  d.weightFileBytes = 1234;
  return d;
}

TEST(CpuTarget, TablesReadBackThroughTheHeader) {
  // One parallel loop, so that the module needs thread scratch.
  TileProgram program(entryFunction(R"(
    tile.parallel (%i) in (%c1) private(%p : memref<10xf32>) {
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %p[%i] : memref<10xf32>
    })"),
                      "native", sampleDescription());
  const hone_module &m = program.module();
  EXPECT_EQ(m.struct_size, sizeof(hone_module));
  EXPECT_EQ(m.abi_version, HONE_ABI_VERSION);
  EXPECT_STREQ(m.config, R"({"model":"m"})");
  EXPECT_EQ(m.max_rows, 256);
  EXPECT_EQ(m.arena_bytes, 4096u);
  EXPECT_EQ(m.thread_bytes, 64u);
  EXPECT_EQ(m.state_count, 2u);
  EXPECT_EQ(m.trainable_dtype, uint32_t(HONE_F64));
  EXPECT_EQ(m.trainable_elements, 77u);
  EXPECT_EQ(m.theta_offset, 64u);
  EXPECT_EQ(m.gradient_offset, 1024u);
  EXPECT_STREQ(m.states[0].name, "state0.codes");
  EXPECT_EQ(m.states[0].dtype, uint32_t(HONE_U8));
  EXPECT_EQ(m.states[1].offset, 2176u);
  ASSERT_EQ(m.schedule_count, 1u);
  const hone_schedule &s = m.schedules[0];
  EXPECT_EQ(s.purpose, uint32_t(HONE_EVALUATE));
  EXPECT_EQ(s.batch_slots, 2u);
  ASSERT_EQ(s.item_count, 2u);
  EXPECT_TRUE(s.items[0].run);
  EXPECT_FALSE(s.items[0].otherwise);
  EXPECT_EQ(s.items[0].condition, HONE_NO_VALUE);
  EXPECT_EQ(s.items[0].work, 640u);
  ASSERT_EQ(s.items[0].value_count, 2u);
  EXPECT_EQ(s.items[0].values[1], 1u);
  EXPECT_EQ(s.items[1].kind, uint32_t(HONE_SEND));
  EXPECT_EQ(s.items[1].stage, 3u);
  EXPECT_STREQ(s.items[1].peer, "upper");
  EXPECT_STREQ(s.items[1].channel, "h");
  ASSERT_EQ(s.value_count, 2u);
  EXPECT_EQ(s.values[1].offset, 64u);
  EXPECT_EQ(s.values[1].stage, 7u);
  ASSERT_EQ(s.setting_count, 1u);
  EXPECT_STREQ(s.settings[0].name, "seed");
  EXPECT_EQ(s.settings[0].dtype, uint32_t(HONE_I64));
  EXPECT_EQ(s.report_count, 0u);
  ASSERT_EQ(m.input_count, 2u);
  EXPECT_STREQ(m.inputs[0].name, "input_ids");
  EXPECT_EQ(m.inputs[0].dtype, uint32_t(HONE_I32));
  EXPECT_EQ(m.inputs[0].rank, 1u);
  EXPECT_EQ(m.inputs[0].shape[0], 256);
  EXPECT_EQ(m.inputs[0].offset, 128u);
  EXPECT_EQ(m.inputs[1].rank, 1u);
  EXPECT_EQ(m.inputs[1].offset, 8u);
  ASSERT_EQ(m.weight_count, 2u);
  EXPECT_EQ(m.weights[0].dtype, uint32_t(HONE_BF16));
  EXPECT_STREQ(m.weights[1].name, "lm_head.weight");
  EXPECT_EQ(m.weights[1].shape[1], 896);
  ASSERT_EQ(m.trainable_count, 1u);
  EXPECT_STREQ(m.trainables[0].name, "a.lora_A.weight");
  EXPECT_EQ(m.trainables[0].rank, 2u);
  EXPECT_EQ(m.trainables[0].init, uint32_t(HONE_INIT_KAIMING_UNIFORM));
  EXPECT_EQ(m.trainables[0].shape[1], 9);
  EXPECT_EQ(m.trainables[0].offset, 5u);
  EXPECT_EQ(m.weight_digests[2], 'b');
  EXPECT_EQ(m.weight_file_bytes, 1234u);
}

namespace {

/// A module with a product and an exponential, lowered for `target`.
class LoweredModule {
public:
  explicit LoweredModule(const Target &target)
      : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<tile::TileDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::math::MathDialect,
                        mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(entryFunction(R"(
      %x = tile.view %arena[%c0] : !tile.memory -> memref<32x64xf32>
      tile.parallel (%i) in (%c1) {
        tile.product %x[%c0, %c0], %x[%c0, %c0], %x[%c0, %c0]
            size(%rows, %rows, %rows) in [32, 64] transpose_w
            : memref<32x64xf32>, memref<32x64xf32>, memref<32x64xf32>
            epilogue (%acc, %r, %c) {
          %e = math.exp %acc : f32
          tile.yield %e : f32
        }
      })"),
                                                     &context);
    mlir::PassManager pm(&context);
    target.buildLoweringPipeline(pm);
    EXPECT_TRUE(module && succeeded(pm.run(*module)));
  }
  mlir::ModuleOp get() { return *module; }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace

static std::unique_ptr<Target> makeTarget(llvm::StringRef text) {
  return llvm::cantFail(createTarget(TargetRequest::parse(text)));
}

static std::string emitToString(const Target &target, mlir::ModuleOp module,
                                EmitKind kind) {
  llvm::SmallString<64> path;
  llvm::sys::fs::createTemporaryFile("hone", "out", path);
  llvm::cantFail(
      target.emit(module, TileProgram::defaultDescription(), kind, path));
  std::string text = (*llvm::MemoryBuffer::getFile(path))->getBuffer().str();
  llvm::sys::fs::remove(path);
  return text;
}

TEST(CpuTarget, WritesObjectsForOtherMachines) {
  for (auto [name, machine] :
       {std::pair<const char *, unsigned>{"x86-64-v3", llvm::ELF::EM_X86_64},
        {"x86-64-v4", llvm::ELF::EM_X86_64},
        {"aarch64-linux-gnu", llvm::ELF::EM_AARCH64},
        {"aarch64-linux-gnu:cortex-a76", llvm::ELF::EM_AARCH64}}) {
    auto target = makeTarget(name);
    LoweredModule module(*target);
    std::string object = emitToString(*target, module.get(), EmitKind::object);
    ASSERT_GT(object.size(), 64u);
    EXPECT_EQ(object.substr(0, 4), "\177ELF");
    EXPECT_EQ(uint8_t(object[18]) | uint8_t(object[19]) << 8, int(machine))
        << name;
  }
}

// Whole vectors in registers, and no call out of line but to the pool.
TEST(CpuTarget, KernelsUseTheWidestVectors) {
  auto v4 = makeTarget("x86-64-v4");
  LoweredModule wide(*v4);
  std::string text = emitToString(*v4, wide.get(), EmitKind::assembly);
  EXPECT_NE(text.find("zmm"), std::string::npos);
  EXPECT_NE(text.find("vfmadd"), std::string::npos);
  EXPECT_EQ(text.find("expf"), std::string::npos);

  auto neon = makeTarget("aarch64-linux-gnu");
  LoweredModule narrow(*neon);
  text = emitToString(*neon, narrow.get(), EmitKind::assembly);
  EXPECT_NE(text.find("fmla"), std::string::npos);
}

TEST(CpuTarget, LeavesNothingHalfWritten) {
  auto target = makeTarget("native");
  LoweredModule module(*target);
  ModuleDescription description = TileProgram::defaultDescription();
  description.schedules[0].items[0].run = "missing";
  llvm::SmallString<64> folder;
  llvm::sys::fs::createUniqueDirectory("hone", folder);
  llvm::SmallString<64> path(folder);
  llvm::sys::path::append(path, "train.o");
  std::string message = llvm::toString(
      target->emit(module.get(), description, EmitKind::object, path));
  EXPECT_NE(message.find("'missing'"), std::string::npos);
  std::error_code error;
  EXPECT_EQ(llvm::sys::fs::directory_iterator(folder, error),
            llvm::sys::fs::directory_iterator());
  llvm::sys::fs::remove_directories(folder);
}

// The runtime refuses a CPU by this list, so it has the features that the code
// may use, not those that the CPU's name implies.
TEST(CpuTarget, ListsTheFeaturesThatCodeMayUse) {
  auto lists = [](TargetRequest request, const char *name) {
    std::vector<std::string> features =
        llvm::cantFail(createTarget(request))->features();
    EXPECT_TRUE(std::is_sorted(features.begin(), features.end()));
    return std::binary_search(features.begin(), features.end(), name);
  };
  TargetRequest v3 = TargetRequest::parse("x86-64-v3");
  for (const char *name : {"avx2", "fma", "f16c", "bmi2"})
    EXPECT_TRUE(lists(v3, name)) << name;
  EXPECT_FALSE(lists(v3, "avx512f"));
  TargetRequest v4 = TargetRequest::parse("x86-64-v4");
  for (const char *name : {"fma", "avx512f", "avx512vl", "avx512bw"})
    EXPECT_TRUE(lists(v4, name)) << name;
  v3.features = "+avx10.2";
  EXPECT_TRUE(lists(v3, "avx10.2"));
  EXPECT_TRUE(lists(v3, "avx512f")); // implied
  TargetRequest server = TargetRequest::parse("aarch64-linux-gnu:neoverse-v2");
  EXPECT_TRUE(lists(server, "neon"));
  EXPECT_TRUE(lists(server, "sve2"));
  EXPECT_FALSE(lists(TargetRequest::parse("aarch64-linux-gnu"), "sve"));
}
