//===- GroupMatrix.cpp - wgmma --------------------------------------------===//
//
// Four warps multiply matrices that are in shared memory; each has 16 of 64
// rows of the result. PTX leaves open when the unit reads and writes: here it
// does so when the warp waits for it, which is as late as can be. A program
// that uses sums before that has old ones, and one that overwrites memory is in
// a race.
//
// The unit sees a thread's writes to shared memory only after its
// fence.proxy.async, and other threads' only if a barrier follows. The last is
// a race like all others. For the first a warp remembers whether it has come
// past a barrier with something unfenced.
//
//===----------------------------------------------------------------------===//

#include "../Workgroup.h"
#include "Float.h"
#include "Lanewise.h"

namespace hone::ptx {
namespace {

constexpr unsigned kGroupWarps = 4, kRows = 16, kDepth = 16;
/// Of a row of shared memory that is swizzled, and of eight such rows.
constexpr unsigned kRowBytes = 128, kRowsTogether = 8;
constexpr unsigned kPiece = 8; ///< elements of 16 bytes
constexpr unsigned kColumnsTogether = 8, kMostColumns = 256;

/// Where a matrix is, as PTX's "Matrix Descriptor Format" says.
struct Descriptor {
  explicit Descriptor(uint64_t bits) {
    auto field = [&](unsigned at) { return (bits >> at & 0x3fff) << 4; };
    start = field(0);
    leading = field(16);
    stride = field(32);
  }
  uint64_t start, leading, stride;
  /// Bytes of element `k` of row or column `place`, `placesTogether`: places
  /// are neighbours instead of terms.
  uint64_t at(unsigned place, unsigned k, bool placesTogether) const {
    const unsigned row = placesTogether ? k : place,
                   along = placesTogether ? place : k;
    const uint64_t logical =
        start + row / kRowsTogether * stride + row % kRowsTogether * kRowBytes +
        along / (kRowBytes / 2) * leading + along % (kRowBytes / 2) * 2;
    // 16-byte pieces of a row change places with those of the other seven.
    return logical ^ (logical >> 7 & 7) << 4;
  }
};

/// False, and a fault: one that no compiler of ours writes.
bool read(Warp &warp, const Instruction &instruction, uint32_t place,
          uint64_t &bits) {
  const uint64_t *lanes = warp.lanes<uint64_t>(place);
  bits = lanes[0];
  for (unsigned lane = 1; lane < kLanes; ++lane)
    if (lanes[lane] != bits) {
      warp.fault(Fault::DivergentWarp, instruction, lane,
                 "lanes have different descriptors");
      return false;
    }
  constexpr uint64_t kSwizzle128 = 1;
  if (bits >> 62 != kSwizzle128 || (bits >> 49 & 7) != 0) {
    warp.fault(Fault::DivergentWarp, instruction, 0,
               "only rows of 128 bytes that are swizzled are known");
    return false;
  }
  return true;
}

using Terms = std::array<double, kDepth>;

/// The warp's 16 rows in four registers of each lane: two neighbours of row
/// `lane / 4` and of the eighth after it, then of the further terms.
void readWords(Warp &warp, const uint32_t *places, std::vector<Terms> &to) {
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t *words = warp.lanes<uint32_t>(places[i]);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned half = 0; half < 2; ++half)
        to[lane / 4 + i % 2 * 8][i / 2 * 8 + lane % 4 * 2 + half] =
            fromBFloat16(uint16_t(words[lane] >> 16 * half));
  }
}

// Operands: the descriptors, or that of the right side alone where `space` is
// generic, since the left side is in registers; `elements` times eight
// columns, isSigned: those of b are neighbours, elementBytes: of a sum that is
// added to. The accumulators, then registers of the left side, are in
// Kernel::more.
void runProduct(Warp &warp, const Instruction &instruction, uint32_t mask) {
  if (!warp.takesPart(instruction, ~0u, mask))
    return;
  if (!warp.workgroup().isFenced()) {
    warp.fault(Fault::Race, instruction, 0,
               "shared memory was written before a barrier without "
               "fence.proxy.async");
    return;
  }
  Warp::GroupProduct product;
  const bool isInMemory = instruction.space == Space::Shared;
  for (unsigned side = isInMemory ? 0 : 1; side < 2; ++side)
    if (!read(warp, instruction, instruction.operands[side],
              product.sides[side]))
      return;
  product.batch = warp.productBatches;
  product.instruction = &instruction;
  warp.products.push_back(product);
}

void multiply(Warp &warp, const Warp::GroupProduct &product) {
  const Instruction &instruction = *product.instruction;
  const bool isInMemory = instruction.space == Space::Shared;
  const Descriptor left(product.sides[0]), right(product.sides[1]);
  const unsigned columns = instruction.elements * kColumnsTogether;
  // Sixteen bytes at a time: eight terms of a place, or eight places of a term.
  auto load = [&](const Descriptor &side, unsigned begin, bool placesTogether,
                  std::vector<Terms> &to) {
    const unsigned placesAtOnce = placesTogether ? kPiece : 1,
                   termsAtOnce = placesTogether ? 1 : kPiece;
    for (unsigned place = 0; place < to.size(); place += placesAtOnce)
      for (unsigned k = 0; k < kDepth; k += termsAtOnce) {
        const char *from =
            warp.read(instruction, Space::Shared,
                      side.at(begin + place, k, placesTogether), kPiece * 2,
                      place % kLanes, /*byWarp=*/true);
        if (!from)
          return false;
        uint16_t bits[kPiece];
        memcpy(bits, from, sizeof bits);
        for (unsigned i = 0; i < kPiece; ++i)
          to[place + (placesTogether ? i : 0)][k + (placesTogether ? 0 : i)] =
              fromBFloat16(bits[i]);
      }
    return true;
  };
  std::vector<Terms> a(kRows), b(columns);
  const uint32_t *places =
      warp.workgroup().kernel.more.data() + instruction.immediate;
  if (!isInMemory)
    readWords(warp, places + columns / 2, a);
  else if (!load(left, warp.number() % kGroupWarps * kRows, false, a))
    return;
  if (!load(right, 0, instruction.isSigned, b))
    return;
  for (unsigned i = 0; i < columns / 2; ++i) {
    float *sums = warp.lanes<float>(places[i]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned row = lane / 4 + i / 2 % 2 * 8,
                     column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      double sum = instruction.elementBytes ? sums[lane] : 0;
      for (unsigned k = 0; k < kDepth; ++k)
        sum += a[row][k] * b[column][k];
      sums[lane] = canonical(float(sum));
    }
  }
}

void runFenceOfRegisters(Warp &warp, const Instruction &instruction,
                         uint32_t mask) {
  warp.takesPart(instruction, ~0u, mask);
}

void runCommit(Warp &warp, const Instruction &instruction, uint32_t mask) {
  if (warp.takesPart(instruction, ~0u, mask))
    ++warp.productBatches;
}

// `immediate`: batches, the last ones, that may go on.
void runWait(Warp &warp, const Instruction &instruction, uint32_t mask) {
  if (!warp.takesPart(instruction, ~0u, mask))
    return;
  auto first = warp.products.begin(), end = first;
  for (; end != warp.products.end() &&
         end->batch + instruction.immediate < warp.productBatches;
       ++end)
    multiply(warp, *end);
  warp.products.erase(first, end);
}

bool decodeProduct(KernelBuilder &builder, const Statement &statement,
                   Instruction &instruction) {
  const std::vector<std::string_view> words = wordsOf(statement.opcode);
  const std::vector<Operand> &operands = statement.operands;
  instruction.warpWide = true;
  if (words.size() < 2)
    return false;
  if (words[1] == "fence" || words[1] == "commit_group") {
    instruction.run = words[1] == "fence" ? runFenceOfRegisters : runCommit;
    return operands.empty();
  }
  if (words[1] == "wait_group") {
    instruction.run = runWait;
    if (operands.size() != 1 || operands[0].kind != Operand::Integer)
      return false;
    instruction.immediate = int64_t(operands[0].bits);
    return true;
  }
  constexpr std::string_view shape = "m64n";
  if (words.size() != 8 || words[1] != "mma_async" ||
      words[4].substr(0, shape.size()) != shape || words[5] != "f32" ||
      words[6] != "bf16" || words[7] != "bf16")
    return false;
  const unsigned columns =
      unsigned(atoi(std::string(words[4].substr(shape.size())).c_str()));
  if (words[4] != "m64n" + std::to_string(columns) + "k16" ||
      columns % kColumnsTogether || columns == 0 || columns > kMostColumns)
    return false;
  // d, a, b, whether d is added to, signs, and which sides are on their sides,
  // of which a in registers has no choice.
  constexpr unsigned kLeftWords = 4;
  const bool isInMemory = operands.size() == 8;
  if ((!isInMemory && operands.size() != 7) ||
      operands[0].kind != Operand::Vector ||
      operands[0].parts.size() != columns / 2)
    return builder.fail(statement.line, "a product of 64 rows has " +
                                            std::to_string(columns / 2) +
                                            " sums of a lane");
  for (unsigned i = 3; i < operands.size(); ++i)
    if (operands[i].kind != Operand::Integer || operands[i].bits > 1)
      return false;
  if (operands[4].bits != 1 || operands[5].bits != 1 ||
      (isInMemory && operands[6].bits != 0))
    return builder.fail(statement.line, "only sums of rows of a whose terms "
                                        "are neighbours are executed");
  std::vector<uint32_t> places;
  auto keep = [&](const Operand &registers) {
    for (const Operand &part : registers.parts)
      if (!builder.place(statement, part, 4, places.emplace_back()))
        return false;
    return true;
  };
  if (!keep(operands[0]))
    return false;
  if (isInMemory) {
    if (!builder.place(statement, operands[1], 8, instruction.operands[0]))
      return false;
  } else if (operands[1].kind != Operand::Vector ||
             operands[1].parts.size() != kLeftWords || !keep(operands[1])) {
    return false;
  }
  instruction.immediate = builder.keep(places);
  instruction.space = isInMemory ? Space::Shared : Space::Generic;
  instruction.elementBytes = operands[3].bits ? sizeof(float) : 0;
  instruction.elements = uint8_t(columns / kColumnsTogether);
  instruction.isSigned = operands.back().bits;
  instruction.run = runProduct;
  return builder.place(statement, operands[2], 8, instruction.operands[1]);
}

void runFence(Warp &warp, const Instruction &instruction, uint32_t mask) {
  if (warp.takesPart(instruction, ~0u, mask))
    warp.fenceAsync();
}

bool decodeFence(KernelBuilder &, const Statement &statement,
                 Instruction &instruction) {
  instruction.warpWide = true;
  instruction.run = runFence;
  return statement.operands.empty() &&
         (statement.opcode == "fence.proxy.async" ||
          statement.opcode == "fence.proxy.async.shared::cta");
}

} // namespace

void addGroupMatrixOperations(Operations &table) {
  table.add("wgmma", decodeProduct);
  table.add("fence", decodeFence);
}

} // namespace hone::ptx
