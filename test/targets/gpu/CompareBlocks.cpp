//===- CompareBlocks.cpp - Kernels of a whole step, as PTX and on the CPU -===//
//
// compare-blocks TILES.mlir ROWS
//
// Calls each function of tile ops of a module on random numbers, once compiled
// by the reference target and once as PTX. What they leave in memory must be
// near, and the machine must find no fault. Prints a line for each function.
//
//===----------------------------------------------------------------------===//

#include "test/targets/TileProgram.h"
#include "test/targets/gpu/DeviceProgram.h"

#include "compiler/driver/Registration.h"
#include "dialects/Tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace hone;

/// Of memory whose bytes have no type; holds what a block keeps to itself.
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

/// Small positive numbers, of which there are roots and logarithms;
/// integers are zero, which every index may be.
static void fill(const Subject &subject, char *arena) {
  std::mt19937 random(7);
  for (const Buffer &buffer : subject.buffers)
    for (int64_t i = 0; i < buffer.bytes;) {
      double value = 0.02 + 0.08 * random() / 4294967296.0;
      float number = static_cast<float>(value);
      auto put = [&](const void *bytes, int64_t count) {
        memcpy(arena + buffer.offset + i, bytes, count);
        i += count;
      };
      uint64_t zero = 0;
      if (!buffer.element || buffer.element.isF32())
        put(&number, 4);
      else if (buffer.element.isF64())
        put(&value, 8);
      else if (buffer.element.isBF16())
        put(reinterpret_cast<char *>(&number) + 2, 2);
      else if (buffer.element.isInteger(8))
        put(&value, 1);
      else
        put(&zero, buffer.element.getIntOrFloatBitWidth() / 8);
    }
}

/// The largest difference in what has a type, relative to the largest number of
/// its buffer.
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
      } else if (memcmp(x + i, y + i, std::min<int64_t>(4, buffer.bytes - i))) {
        compare(0, 1);
      }
    }
    worst = std::max(worst, most > 0 ? apart / most : apart);
  }
  return worst;
}

static bool check(const Subject &subject, int64_t rows) {
  std::vector<char> storage[2];
  char *arenas[2];
  for (int i : {0, 1}) {
    storage[i].resize(subject.bytes + 64);
    arenas[i] = align64(storage[i].data());
    fill(subject, arenas[i]);
  }
  TileProgram reference(subject.ir, "reference");
  reference.run(arenas[0], rows);
  DeviceProgram device(subject.ir, subject.bytes);
  std::string fault = device.run(arenas[1], rows);
  double apart = difference(subject, arenas[1], arenas[0]);
  bool isFine = fault.empty() && apart <= 1e-4;
  llvm::outs() << subject.name << ": " << (isFine ? "near" : "far") << ", "
               << llvm::format("%.1e", apart) << "\n"
               << fault;
  return isFine;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: compare-blocks TILES.mlir ROWS\n";
    return 2;
  }
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  bool isFine = true;
  for (auto function : module->getOps<func::FuncOp>()) {
    if (function->hasAttr(tile::TileDialect::kEntryAttrName) ||
        function->hasAttr(tile::TileDialect::kHostAttrName))
      continue;
    Subject subject = subjectOf(*module, function);
    if (!subject.ir.empty())
      isFine &= check(subject, atoi(argv[2]));
  }
  return isFine ? 0 : 1;
}
