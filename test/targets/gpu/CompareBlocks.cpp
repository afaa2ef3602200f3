//===- CompareBlocks.cpp - Kernels of a whole step on devices and the CPU -===//
//
// compare-blocks PLACED.mlir ROWS [MOST [TARGET...]]
//
// Calls each block of a module that is placed (hone-place) on random numbers,
// compiled by the reference target and as the text of each device, PTX if none
// is named, each with its target's kernels. Their results in memory must be
// near, the same bits for all devices, and no machine may find a fault. Prints
// a line for each block.
//
// Numbers are small and positive or, with MOST, from -MOST to MOST. Integers
// are where the sequences of a batch begin, which are indices of rows and ids.
//
//===----------------------------------------------------------------------===//

#include "test/targets/TileProgram.h"
#include "test/targets/gpu/DeviceProgram.h"

#include "compiler/driver/Registration.h"
#include "dialects/Tile/PlacedMemory.h"
#include "dialects/Tile/TileDialect.h"
#include "passes/Passes.h"
#include "targets/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace hone;

/// Of memory whose bytes have no type; holds a block's internal values.
static constexpr int64_t kMemoryBytes = 4 << 20;

namespace {

struct Buffer {
  int64_t offset, bytes;
  Type element; ///< null: memory
};

/// A function, and the arena that its arguments are in.
struct Subject {
  std::string name, ir;
  std::vector<Buffer> buffers;
  int64_t bytes = 0;
};

} // namespace

/// The module with one entry, which calls `function`; without IR if its
/// arguments are not memory alone.
static Subject subjectOf(ModuleOp module, func::FuncOp function) {
  Subject subject;
  subject.name = function.getName();
  OwningOpRef<ModuleOp> copy = module.clone();
  for (auto other : llvm::make_early_inc_range(copy->getOps<func::FuncOp>()))
    if (other->hasAttr(tile::TileDialect::kEntryAttrName) ||
        (other.getName() != function.getName() &&
         other.getFunctionType().getNumInputs() > 0 &&
         !other->hasAttr(tile::TileDialect::kHostAttrName)))
      other.erase();
  // A block is alone here: its offsets are those for the most rows.
  copy->walk([](tile::OffsetOp op) {
    OpBuilder b(op);
    auto offsets =
        op->getAttrOfType<DenseI64ArrayAttr>(tile::kPlacedOffsetsAttrName);
    op.replaceAllUsesWith(arith::ConstantIndexOp::create(
                              b, op.getLoc(), offsets.asArrayRef().front())
                              .getResult());
    op.erase();
  });
  Location loc = function.getLoc();
  OpBuilder b = OpBuilder::atBlockEnd(copy->getBody());
  auto entry = func::FuncOp::create(b, loc, "hone_entry_main",
                                    b.getFunctionType({}, {}));
  entry->setAttr(tile::TileDialect::kEntryAttrName, b.getUnitAttr());
  b.setInsertionPointToStart(entry.addEntryBlock());
  Value arena = tile::BaseOp::create(
      b, loc, tile::MemoryType::get(b.getContext()), tile::MemoryBase::arena);
  SmallVector<Value> arguments;
  for (Type type : function.getArgumentTypes()) {
    if (type.isIndex()) {
      arguments.push_back(tile::RowsOp::create(b, loc, type));
      continue;
    }
    auto buffer = dyn_cast<MemRefType>(type);
    if (!buffer && !isa<tile::MemoryType>(type))
      return subject;
    int64_t bytes =
        buffer ? buffer.getNumElements() * buffer.getElementTypeBitWidth() / 8
               : kMemoryBytes;
    Value at = arith::ConstantIndexOp::create(b, loc, subject.bytes);
    arguments.push_back(tile::ViewOp::create(b, loc, type, arena, at));
    subject.buffers.push_back(
        {subject.bytes, bytes, buffer ? buffer.getElementType() : Type()});
    subject.bytes += llvm::alignTo(bytes, 64);
  }
  func::CallOp::create(b, loc, function.getName(), TypeRange(), arguments);
  func::ReturnOp::create(b, loc);
  llvm::raw_string_ostream text(subject.ir);
  copy->print(text);
  return subject;
}

/// Where the sequence of row `i` begins, or of any value with an `i`.
static int64_t startOf(int64_t i) { return i < 3 ? 0 : i < 40 ? 3 : 40; }

/// Numbers up to `most` in size or, if that is 0, small positive ones, of which
/// there are roots and logarithms.
static void fill(const Subject &subject, double most, char *arena) {
  std::mt19937 random(7);
  for (const Buffer &buffer : subject.buffers)
    for (int64_t i = 0; i < buffer.bytes;) {
      double unit = random() / 4294967296.0;
      double value = most > 0 ? most * (2 * unit - 1) : 0.02 + 0.08 * unit;
      float number = static_cast<float>(value);
      auto put = [&](const void *bytes, int64_t count) {
        memcpy(arena + buffer.offset + i, bytes, count);
        i += count;
      };
      if (!buffer.element || buffer.element.isF32())
        put(&number, 4);
      else if (buffer.element.isF64())
        put(&value, 8);
      else if (buffer.element.isBF16())
        put(reinterpret_cast<char *>(&number) + 2, 2);
      else if (buffer.element.isInteger(8))
        put(&value, 1);
      else {
        int64_t bytes = buffer.element.getIntOrFloatBitWidth() / 8;
        int64_t start = buffer.element.isInteger(32) ? startOf(i / bytes) : 0;
        put(&start, bytes);
      }
    }
}

/// The difference allowed between two orders of a sum, relative to the largest
/// number, by the narrowest type.
static double allowedIn(const Subject &subject) {
  double allowed = 1e-11;
  for (const Buffer &buffer : subject.buffers)
    if (buffer.element && !buffer.element.isF64() &&
        isa<FloatType>(buffer.element))
      allowed = std::max(allowed, buffer.element.isBF16() ? 8e-3 : 1e-4);
  return allowed;
}

/// The largest difference in typed values, relative to the largest number of
/// their buffer.
static double difference(const Subject &subject, const char *a, const char *b) {
  double worst = 0;
  for (const Buffer &buffer : subject.buffers) {
    if (!buffer.element)
      continue; // numbers of all types, which results are made of
    double most = 0, apart = 0;
    auto compare = [&](double x, double y) {
      if (x == y || (std::isnan(x) && std::isnan(y)))
        return;
      most = std::max(most, std::abs(y));
      apart = std::isnan(x) || std::isnan(y) ? HUGE_VAL
                                             : std::max(apart, std::abs(x - y));
    };
    const char *x = a + buffer.offset, *y = b + buffer.offset;
    for (int64_t i = 0; i < buffer.bytes; i += 4) {
      if (buffer.element.isF64()) {
        double p, q;
        memcpy(&p, x + i, 8);
        memcpy(&q, y + i, 8);
        compare(p, q);
        i += 4;
      } else if (buffer.element.isF32()) {
        float p, q;
        memcpy(&p, x + i, 4);
        memcpy(&q, y + i, 4);
        compare(p, q);
      } else if (buffer.element.isBF16()) {
        for (int64_t at = i; at < std::min(i + 4, buffer.bytes); at += 2) {
          float p = 0, q = 0;
          memcpy(reinterpret_cast<char *>(&p) + 2, x + at, 2);
          memcpy(reinterpret_cast<char *>(&q) + 2, y + at, 2);
          compare(p, q);
        }
      } else if (memcmp(x + i, y + i, std::min<int64_t>(4, buffer.bytes - i))) {
        compare(0, 1);
      }
    }
    worst = std::max(worst, most > 0 ? apart / most : apart);
  }
  return worst;
}

/// A block as one device has it.
struct DeviceSubject {
  StringRef target;
  Subject subject;
};

/// `subject` has the kernels of the reference target.
static bool check(const Subject &subject, ArrayRef<DeviceSubject> devices,
                  int64_t rows, double most) {
  auto arenaOf = [&](std::vector<char> &storage) {
    storage.resize(subject.bytes + 64);
    char *arena = align64(storage.data());
    fill(subject, most, arena);
    return arena;
  };
  std::vector<char> expected;
  char *reference = arenaOf(expected);
  TileProgram(subject.ir, "reference").run(reference, rows);
  std::string fault;
  double apart = 0;
  std::vector<std::vector<char>> storage(devices.size());
  SmallVector<char *> arenas;
  for (auto [device, memory] : llvm::zip_equal(devices, storage)) {
    arenas.push_back(arenaOf(memory));
    DeviceProgram program(device.subject.ir, device.subject.bytes,
                          device.target);
    fault += program.run(arenas.back(), rows);
    apart = std::max(apart, difference(subject, arenas.back(), reference));
    // NaN of any kind counts as one number, and so do both zeros.
    if (difference(subject, arenas.front(), arenas.back()) != 0)
      fault += ("other bits on " + device.target + " than on " +
                devices.front().target + "\n")
                   .str();
  }
  bool isFine = fault.empty() && apart <= allowedIn(devices.front().subject);
  llvm::outs() << subject.name << ": " << (isFine ? "near" : "far") << ", "
               << llvm::format("%.1e", apart) << "\n"
               << fault;
  return isFine;
}

/// The functions of the blocks of `placed`, with the kernels of `target`.
static OwningOpRef<ModuleOp> tilesFor(StringRef target, ModuleOp placed) {
  auto chosen = llvm::cantFail(createTarget(TargetRequest::parse(target)));
  OwningOpRef<ModuleOp> module = placed.clone();
  PassManager passes(placed.getContext());
  passes.addPass(createConvertToTiles(chosen->blocks(), chosen->kernels()));
  passes.addPass(createVerifyTiles(/*hasFloat64=*/true, chosen->kernels()));
  if (failed(passes.run(*module)))
    exit(1);
  return module;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    llvm::errs() << "usage: compare-blocks PLACED.mlir ROWS [MOST "
                    "[TARGET...]]\n";
    return 2;
  }
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  double most = argc > 3 ? atof(argv[3]) : 0;
  SmallVector<StringRef> targets = {"nvptx64-nvidia-cuda:sm_80"};
  if (argc > 4)
    targets.assign(argv + 4, argv + argc);
  OwningOpRef<ModuleOp> tiles = tilesFor("reference", *module);
  std::vector<OwningOpRef<ModuleOp>> ofDevices;
  for (StringRef target : targets)
    ofDevices.push_back(tilesFor(target, *module));
  bool isFine = true;
  for (auto function : tiles->getOps<func::FuncOp>()) {
    if (function->hasAttr(tile::TileDialect::kEntryAttrName) ||
        function->hasAttr(tile::TileDialect::kHostAttrName))
      continue;
    Subject subject = subjectOf(*tiles, function);
    std::vector<DeviceSubject> devices;
    for (auto [target, own] : llvm::zip_equal(targets, ofDevices))
      if (auto same = own->lookupSymbol<func::FuncOp>(function.getName()))
        devices.push_back({target, subjectOf(*own, same)});
    if (!subject.ir.empty() && devices.size() == targets.size())
      isFine &= check(subject, devices, atoi(argv[2]), most);
  }
  return isFine ? 0 : 1;
}
