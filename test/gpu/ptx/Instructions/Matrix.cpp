//===- Matrix.cpp - ldmatrix and mma.sync ---------------------------------===//
//
// Which element a lane has is PTX's. How a sum of products is rounded is not
// specified: here it is exact to f64 and rounded once, which no device
// promises.
//
//===----------------------------------------------------------------------===//

#include "Banks.h"
#include "Float.h"
#include "Lanewise.h"

namespace hone::ptx {
namespace {

// Operands: the address, then the matrices. isSigned: transposed.
void runLoadMatrix(Warp &warp, const Instruction &instruction, uint32_t mask) {
  if (!warp.takesPart(instruction, ~0u, mask))
    return;
  const unsigned matrices = instruction.elements;
  // The eight rows of a matrix at once.
  countConflicts(
      warp, instruction, uint32_t((uint64_t(1) << 8 * matrices) - 1), 16,
      [&](unsigned lane) { return warp.address(instruction, 0, lane); });
  uint16_t elements[4][8][8] = {};
  for (unsigned i = 0; i < 8 * matrices; ++i)
    if (const char *row =
            warp.read(instruction, Space::Shared,
                      warp.address(instruction, 0, i), 16, i, /*byWarp=*/true))
      memcpy(elements[i / 8][i % 8], row, 16);
  for (unsigned m = 0; m < matrices; ++m) {
    uint32_t *to = warp.lanes<uint32_t>(instruction.operands[1 + m]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned row = lane / 4, column = lane % 4 * 2;
      const auto &matrix = elements[m];
      to[lane] =
          instruction.isSigned
              ? matrix[column][row] | uint32_t(matrix[column + 1][row]) << 16
              : matrix[row][column] | uint32_t(matrix[row][column + 1]) << 16;
    }
  }
}

bool decodeLoadMatrix(KernelBuilder &builder, const Statement &statement,
                      Instruction &instruction) {
  const std::vector<std::string_view> words = wordsOf(statement.opcode);
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "x1" || words[i] == "x2" || words[i] == "x4")
      instruction.elements = uint8_t(words[i][1] - '0');
    else if (words[i] == "trans")
      instruction.isSigned = true;
    else if (words[i] != "sync" && words[i] != "aligned" &&
             words[i] != "m8n8" && words[i] != "shared" &&
             words[i] != "shared::cta" && words[i] != "b16")
      return false;
  }
  instruction.run = runLoadMatrix;
  instruction.warpWide = true;
  if (instruction.elements == 0 || statement.operands.size() != 2 ||
      statement.operands[0].kind != Operand::Vector ||
      statement.operands[0].parts.size() != instruction.elements ||
      !builder.address(statement, statement.operands[1], instruction, 0))
    return false;
  for (unsigned i = 0; i < instruction.elements; ++i)
    if (!builder.place(statement, statement.operands[0].parts[i], 4,
                       instruction.operands[1 + i]))
      return false;
  return true;
}

// Operands: d0..d3, a..., b..., c0..c3 of 16 x `depth` by `depth` x 8.
template <unsigned depth>
void runProduct(Warp &warp, const Instruction &instruction, uint32_t mask) {
  if (!warp.takesPart(instruction, ~0u, mask))
    return;
  const uint32_t *places = instruction.operands.data();
  const uint32_t *aPlaces = places + 4, *bPlaces = aPlaces + depth / 4,
                 *cPlaces = bPlaces + depth / 8;
  double a[16][depth], b[8][depth], c[16][8];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned group = lane / 4, pair = lane % 4 * 2;
    for (unsigned i = 0; i < depth / 4; ++i) {
      const uint32_t bits = warp.lanes<uint32_t>(aPlaces[i])[lane];
      double *to = &a[group + 8 * (i % 2)][pair + 8 * (i / 2)];
      to[0] = fromBFloat16(uint16_t(bits));
      to[1] = fromBFloat16(uint16_t(bits >> 16));
    }
    for (unsigned i = 0; i < depth / 8; ++i) {
      const uint32_t bits = warp.lanes<uint32_t>(bPlaces[i])[lane];
      b[group][pair + 8 * i] = fromBFloat16(uint16_t(bits));
      b[group][pair + 8 * i + 1] = fromBFloat16(uint16_t(bits >> 16));
    }
    for (unsigned i = 0; i < 4; ++i)
      c[group + 8 * (i / 2)][pair + i % 2] =
          warp.lanes<float>(cPlaces[i])[lane];
  }
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 8; ++column)
      for (unsigned k = 0; k < depth; ++k)
        c[row][column] += a[row][k] * b[column][k];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned i = 0; i < 4; ++i)
      warp.lanes<float>(places[i])[lane] =
          canonical(float(c[lane / 4 + 8 * (i / 2)][lane % 4 * 2 + i % 2]));
}

template <unsigned depth>
bool decodeProduct(KernelBuilder &builder, const Statement &statement,
                   Instruction &instruction) {
  instruction.run = runProduct<depth>;
  instruction.warpWide = true;
  static const unsigned counts[4] = {4, depth / 4, depth / 8, 4};
  if (statement.operands.size() != 4)
    return false;
  unsigned index = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const Operand &operand = statement.operands[i];
    const bool isVector = operand.kind == Operand::Vector;
    if ((isVector ? operand.parts.size() : 1) != counts[i])
      return builder.fail(statement.line,
                          "operand " + std::to_string(i + 1) + " has " +
                              std::to_string(counts[i]) + " registers");
    for (unsigned part = 0; part < counts[i]; ++part)
      if (!builder.place(statement, isVector ? operand.parts[part] : operand, 4,
                         instruction.operands[index++]))
        return false;
  }
  return true;
}

} // namespace

void addMatrixOperations(Operations &table) {
  table.add("ldmatrix", decodeLoadMatrix);
  const std::string mma = "mma.sync.aligned.",
                    types = ".row.col.f32.bf16.bf16.f32";
  table.add(mma + "m16n8k16" + types, decodeProduct<16>);
  table.add(mma + "m16n8k8" + types, decodeProduct<8>);
}

} // namespace hone::ptx
