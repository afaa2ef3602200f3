//===- ThetaUpdate.cpp - The common part of optimizers' kernels -----------===//

#include "passes/kernels/ThetaUpdate.h"
#include "runtime/src/base/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Elements by their tensors, whose names random numbers have
//===----------------------------------------------------------------------===//

DenseElementsAttr hone::parameterChunks(ArrayRef<Parameter> parameters,
                                        int64_t most, MLIRContext *context) {
  SmallVector<int64_t> rows;
  constexpr int64_t inBlock = numerics::kStateBlock;
  most = std::max(most / inBlock, int64_t(1)) * inBlock;
  int64_t blocks = 0;
  for (const Parameter &parameter : parameters) {
    int64_t start = parameter.offset - parameters.front().offset;
    int64_t elements = parameter.type.getNumElements();
    auto hash = [&](rt::RandomPurpose purpose) {
      return static_cast<int64_t>(rt::hashStream(purpose, parameter.name));
    };
    for (int64_t first = 0; first < elements; first += most)
      rows.append({start + first, std::min(most, elements - first), first,
                   hash(rt::RandomPurpose::Round),
                   hash(rt::RandomPurpose::Perturb),
                   int64_t(parameter.hasRateOfB()), blocks + first / inBlock});
    blocks += llvm::divideCeil(elements, inBlock);
  }
  auto type = RankedTensorType::get({static_cast<int64_t>(rows.size()) / 7, 7},
                                    IntegerType::get(context, 64));
  return DenseElementsAttr::get(type, ArrayRef(rows));
}

DenseElementsAttr hone::parameterTensors(ArrayRef<Parameter> parameters,
                                         MLIRContext *context) {
  const StateSlot ofRows{"", {}, StateSlot::Extent::Rows},
      ofColumns{"", {}, StateSlot::Extent::Columns};
  SmallVector<int64_t> table;
  int64_t row = 0, column = 0;
  for (const Parameter &parameter : parameters) {
    const int64_t rows = ofRows.elementsOf(parameter.type),
                  columns = ofColumns.elementsOf(parameter.type);
    assert(rows * columns == parameter.type.getNumElements());
    table.append({parameter.offset - parameters.front().offset, rows, columns,
                  row, column, parameter.type.getRank() == 1 ? 0 : columns,
                  static_cast<int64_t>(
                      rt::hashStream(rt::RandomPurpose::Round, parameter.name)),
                  int64_t(parameter.hasRateOfB())});
    row += rows;
    column += columns;
  }
  auto type = RankedTensorType::get({int64_t(parameters.size()), 8},
                                    IntegerType::get(context, 64));
  return DenseElementsAttr::get(type, ArrayRef(table));
}

/// Runs the body for each chunk, in parallel.
static void forEachChunk(KernelBuilder &k, Value chunks,
                         ArrayRef<MemRefType> scratch,
                         function_ref<void(ParameterChunk, ValueRange)> body) {
  int64_t count = cast<MemRefType>(chunks.getType()).getDimSize(0);
  k.parallel(k.index(count), scratch, [&](Value chunk, ValueRange buffers) {
    auto place = [&](int64_t at) {
      return k.loadIndex(chunks, {chunk, k.index(at)});
    };
    auto word = [&](int64_t at) {
      return k.load(chunks, {chunk, k.index(at)});
    };
    body({place(0), place(1), place(2), word(3), word(4), word(5), place(6)},
         buffers);
  });
}

/// The words of a hone random key.
static RandomKey keyWords(KernelBuilder &k, Value key) {
  auto word = [&](int64_t at) { return k.load(key, k.index(at)); };
  return {word(0), word(1), word(2), word(3)};
}

void Directions::sum(const ParameterChunk &chunk, Value sums) const {
  Type real = k.getF64Type(), word = k.getI32Type();
  k.map(chunk.count,
        [&](ValueRange j) { k.store(k.real(real, 0.0), sums, j[0]); });
  int64_t count = cast<MemRefType>(coefficients.getType()).getDimSize(0);
  auto [seed0, seed1, step0, step1] = keyWords(k, key);
  k.loop(k.index(0), k.index(count), 1,
         [&, &seed0 = seed0, &seed1 = seed1, &step0 = step0,
          &step1 = step1](Value direction) {
           Value probe = arith::ShLIOp::create(
               k, arith::IndexCastOp::create(k, word, direction),
               arith::ConstantOp::create(
                   k, k.getIntegerAttr(word, rt::RandomStream::probeShift)));
           RandomKey stream = streamKey(
               k, {seed0, seed1, step0, arith::OrIOp::create(k, step1, probe)},
               chunk.perturb);
           Value coefficient = k.loadAs(real, coefficients, direction);
           k.map(chunk.count, [&](ValueRange j) {
             Value z = randomNormal(k, stream, k.add(chunk.inTensor, j[0]));
             k.store(k.add(k.load(sums, j[0]), k.mul(coefficient, z)), sums,
                     j[0]);
           });
         });
}

void hone::emitEstimate(EstimateGradientOp op, Value gradient, Value chunks,
                        KernelBuilder &k) {
  Directions directions(k, k.buffer(op.getKey()),
                        k.buffer(op.getCoefficients()));
  forEachChunk(k, chunks, directions.scratch(),
               [&](ParameterChunk chunk, ValueRange scratch) {
                 directions.sum(chunk, scratch[0]);
                 Value scale;
                 if (op.getScale())
                   scale = k.load(k.buffer(op.getScale()), {});
                 k.map(chunk.count, [&](ValueRange j) {
                   Value sum = k.load(scratch[0], j[0]);
                   k.store(scale ? k.mul(scale, sum) : sum, gradient,
                           k.add(chunk.first, j[0]));
                 });
               });
}

/// A random number is added to the 16 bits that bfloat16 lacks: the larger
/// these are, the more probable is a carry.
static Value roundToBfloat16(Value value, Value random, KernelBuilder &k) {
  Type word = k.getI32Type();
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(k, k.getIntegerAttr(word, number));
  };
  Value bits = arith::BitcastOp::create(k, word, value);
  Value added = arith::AddIOp::create(
      k, bits, arith::ShRUIOp::create(k, random, constant(16)));
  // A NaN must not become a number, nor infinity a NaN.
  Value exponent = arith::AndIOp::create(k, bits, constant(0x7f800000));
  Value isFinite = arith::CmpIOp::create(k, arith::CmpIPredicate::ne, exponent,
                                         constant(0x7f800000));
  Value chosen = arith::SelectOp::create(k, isFinite, added, bits);
  Value upper = arith::TruncIOp::create(
      k, k.getIntegerType(16), arith::ShRUIOp::create(k, chosen, constant(16)));
  return arith::BitcastOp::create(k, k.getBF16Type(), upper);
}

//===----------------------------------------------------------------------===//
// Elements of an update
//===----------------------------------------------------------------------===//

UpdateChunk ThetaUpdate::share(const ParameterChunk &at) const {
  UpdateChunk chunk{at, number(rate), {}, {}};
  if (rateOfB)
    chunk.rate = arith::SelectOp::create(
        k, arith::TruncIOp::create(k, k.getI1Type(), at.hasRateOfB),
        number(rateOfB), chunk.rate);
  if (rounding)
    chunk.rounding = streamKey(k, keyWords(k, k.buffer(rounding)), at.round);
  return chunk;
}

void ThetaUpdate::forEachChunk(
    ArrayRef<MemRefType> scratch,
    function_ref<void(const UpdateChunk &, ValueRange)> body) const {
  SmallVector<MemRefType> memory(scratch);
  if (directions)
    memory.push_back(directions->scratch());
  ::forEachChunk(k, vectors.chunks, memory,
                 [&](ParameterChunk at, ValueRange buffers) {
                   if (directions)
                     directions->sum(at, buffers.back());
                   UpdateChunk chunk = share(at);
                   if (directions)
                     chunk.sums = buffers.back();
                   body(chunk, buffers.take_front(scratch.size()));
                 });
}

void ThetaUpdate::forEachTensor(
    ArrayRef<MemRefType> scratch,
    function_ref<void(const UpdateTensor &, ValueRange)> body) const {
  Value tensors = vectors.tensors;
  int64_t count = cast<MemRefType>(tensors.getType()).getDimSize(0);
  k.parallel(k.index(count), scratch, [&](Value tensor, ValueRange buffers) {
    auto place = [&](int64_t at) {
      return k.loadIndex(tensors, {tensor, k.index(at)});
    };
    auto word = [&](int64_t at) {
      return k.load(tensors, {tensor, k.index(at)});
    };
    Value rows = place(1), columns = place(2);
    ParameterChunk all{
        place(0), k.mul(rows, columns), k.index(0), word(6), {}, word(7), {}};
    body({share(all), rows, columns, place(3), place(4), place(5)}, buffers);
  });
}

UpdateChunk ThetaUpdate::rowOf(const UpdateTensor &tensor, Value i) const {
  UpdateChunk row = tensor.all;
  row.at.inTensor = k.mul(i, tensor.columns);
  row.at.first = k.add(tensor.all.at.first, row.at.inTensor);
  row.at.count = tensor.columns;
  return row;
}

UpdateElement ThetaUpdate::read(const UpdateChunk &chunk, Value j) const {
  Value i = k.add(chunk.at.first, j);
  UpdateElement at{k.loadAs(element, vectors.theta, i),
                   chunk.sums ? k.convert(element, k.load(chunk.sums, j))
                              : k.load(vectors.gradient, i),
                   i,
                   {}};
  if (rounding)
    at.random = randomWord(k, chunk.rounding, k.add(chunk.at.inTensor, j));
  return at;
}

void ThetaUpdate::store(Value value, Value to, const UpdateElement &at,
                        Value random) const {
  if (cast<MemRefType>(to.getType()).getElementType().isBF16())
    value = roundToBfloat16(k.convert(k.getF32Type(), value), random, k);
  k.store(value, to, at.place);
}

void ThetaUpdate::remember(const UpdateElement &at, unsigned slot,
                           Value value) const {
  Value random;
  if (at.random)
    random = arith::ShLIOp::create(
        k, at.random,
        arith::ConstantOp::create(k, k.getIntegerAttr(k.getI32Type(), 16)));
  store(value, vectors.state[slot], at, random);
}
