//===- UpdatedMatrix.cpp - A matrix with its adapter added ----------------===//

#include "compiler/hone-adapter/UpdatedMatrix.h"
#include "compiler/hone-adapter/RoundedStore.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cmath>

using namespace hone;
using rt::Dtype;

//===----------------------------------------------------------------------===//
// Survival
//===----------------------------------------------------------------------===//

void Survival::add(double d, double s, bool isChanged) {
  dd += d * d;
  sd += s * d;
  ee += (s - d) * (s - d);
  changed += isChanged;
  ++elements;
}

Survival &Survival::operator+=(const Survival &other) {
  dd += other.dd;
  sd += other.sd;
  ee += other.ee;
  changed += other.changed;
  elements += other.elements;
  return *this;
}

double Survival::length() const { return std::sqrt(dd); }
double Survival::survives() const { return dd > 0 ? sd / dd : 1; }
double Survival::error() const { return dd > 0 ? std::sqrt(ee / dd) : 0; }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static std::vector<double> transpose(const std::vector<double> &values,
                                     int64_t rows, int64_t columns) {
  std::vector<double> out(values.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      out[c * rows + r] = values[r * columns + c];
  return out;
}

Result<UpdatedMatrix> UpdatedMatrix::create(BaseMatrix base,
                                            const PeftAdapter &adapter,
                                            const LowRankUpdate *update,
                                            bool isTransposed,
                                            std::vector<double> &factors) {
  UpdatedMatrix out;
  out.matrix = std::move(base);
  if (!update)
    return out;
  HONE_ASSIGN(std::vector<double> a, adapter.read(*update->a));
  HONE_ASSIGN(std::vector<double> b, adapter.read(*update->b));
  out.rank = update->rank();
  out.left = std::move(b);
  out.right = std::move(a);
  if (isTransposed) { // (B A)^T = A^T B^T
    std::vector<double> left = transpose(out.right, out.rank, update->in());
    out.right = transpose(out.left, update->out(), out.rank);
    out.left = std::move(left);
  }
  for (double &x : out.left)
    x *= update->scale;
  out.isTransposed = isTransposed;
  if (update->magnitude && factors.empty()) {
    HONE_ASSIGN(std::vector<double> magnitudes,
                adapter.read(*update->magnitude));
    factors = out.findFactors(std::move(magnitudes));
  }
  out.factors = factors;
  return out;
}

void UpdatedMatrix::forEachOutput(
    uint64_t first, uint64_t count,
    llvm::function_ref<void(uint64_t, uint64_t)> visit) const {
  const uint64_t columns = matrix.columns;
  for (uint64_t i = 0; i < count; ++i)
    visit(i, isTransposed ? (first + i) % columns : (first + i) / columns);
}

std::vector<double>
UpdatedMatrix::findFactors(std::vector<double> magnitudes) const {
  const uint64_t outputs = magnitudes.size(), columns = matrix.columns;
  // Outputs of a task: rows, or columns in whole groups.
  const uint64_t share = isTransposed
                             ? pieceElements / 16
                             : std::max<uint64_t>(1, pieceElements / columns);
  std::vector<double> squares(outputs);
  llvm::parallelFor(0, llvm::divideCeil(outputs, share), [&](size_t task) {
    const uint64_t begin = task * share, end = std::min(outputs, begin + share);
    const uint64_t firstRow = isTransposed ? 0 : begin,
                   endRow = isTransposed ? matrix.rows : end,
                   firstColumn = isTransposed ? begin : 0,
                   endColumn = isTransposed ? end : columns;
    // The elements of an output in their order, on any thread.
    for (uint64_t row = firstRow; row < endRow; ++row)
      for (uint64_t column = firstColumn; column < endColumn;) {
        const uint64_t first = row * columns + column,
                       count = std::min(pieceElements, endColumn - column);
        const Piece piece = load(first, count);
        forEachOutput(first, count, [&](uint64_t i, uint64_t output) {
          const double sum = piece.w[i] + piece.d[i];
          squares[output] += sum * sum;
        });
        column += count;
      }
    // Pages of columns are other tasks' too.
    if (!isTransposed)
      matrix.release(begin * columns, (end - begin) * columns);
  });
  if (isTransposed)
    matrix.release(0, matrix.elements());
  for (size_t i = 0; i < outputs; ++i)
    magnitudes[i] /= std::sqrt(squares[i]);
  return magnitudes;
}

UpdatedMatrix::Piece UpdatedMatrix::load(uint64_t first, uint64_t count) const {
  Piece piece{std::vector<double>(count), std::vector<double>(count)};
  matrix.load(first, count, piece.w.data());
  if (!isUpdated())
    return piece;
  const uint64_t columns = matrix.columns;
  for (uint64_t at = 0; at < count;) {
    const uint64_t row = (first + at) / columns, from = (first + at) % columns;
    const uint64_t length = std::min(columns - from, count - at);
    double *d = piece.d.data() + at;
    for (int64_t k = 0; k < rank; ++k) {
      const double factor = left[row * rank + k];
      const double *along = right.data() + k * columns + from;
      for (uint64_t i = 0; i < length; ++i)
        d[i] += factor * along[i];
    }
    at += length;
  }
  if (!factors.empty())
    forEachOutput(first, count, [&](uint64_t i, uint64_t output) {
      piece.d[i] = (piece.w[i] + piece.d[i]) * factors[output] - piece.w[i];
    });
  return piece;
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

bool UpdatedMatrix::store(uint64_t first, uint64_t count, Dtype dtype, char *to,
                          Survival *survival) const {
  Piece piece = load(first, count);
  std::vector<double> merged(count);
  for (uint64_t i = 0; i < count; ++i)
    merged[i] = piece.d[i] == 0 ? piece.w[i] : piece.w[i] + piece.d[i];
  storeRounded(merged.data(), count, dtype, to);
  // W itself may need rounding: into a type that it did not have, or out of
  // groups.
  std::vector<char> kept;
  if (survival && isUpdated()) {
    kept.resize(count * rt::dtypeBytes(dtype));
    storeRounded(piece.w.data(), count, dtype, kept.data());
  }
  bool isFinite = true;
  for (uint64_t i = 0; i < count; ++i) {
    double stored = rt::loadAsDouble(dtype, to, i);
    isFinite &= std::isfinite(stored) || !std::isfinite(piece.w[i]);
    if (kept.empty())
      continue;
    double s = stored - rt::loadAsDouble(dtype, kept.data(), i);
    survival->add(piece.d[i], s, s != 0);
  }
  return isFinite;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// `value` as a file of type `dtype` holds it.
static double asStored(float value, Dtype dtype) {
  char bytes[8];
  double exact = value;
  storeRounded(&exact, 1, dtype, bytes);
  return rt::loadAsDouble(dtype, bytes, 0);
}

bool UpdatedMatrix::storeGrouped(uint64_t first, uint64_t count, Part part,
                                 char *to, Survival *survival) const {
  const Quantization &grouping = matrix.quantization;
  const uint64_t size = grouping.groupSize;
  const unsigned most = (1u << grouping.bits) - 1;
  const rt::TensorInfo &scales = *matrix.scales->tensor,
                       &biases = *matrix.biases->tensor;
  const Quantizer quantizer(grouping.bits, grouping.groupSize);
  const Piece piece = load(first, count);
  std::vector<float> merged(size);
  std::vector<unsigned> numbers(size);
  for (uint64_t at = 0; at < count; at += size) {
    const uint64_t group = (first + at) / size;
    double scale = rt::loadAsDouble(scales.dtype,
                                    matrix.scales->file->data(scales), group);
    double bias = rt::loadAsDouble(biases.dtype,
                                   matrix.biases->file->data(biases), group);
    const double *d = piece.d.data() + at, *w = piece.w.data() + at;
    const bool isKept =
        std::all_of(d, d + size, [](double x) { return x == 0; });
    if (!isKept) {
      for (uint64_t i = 0; i < size; ++i)
        merged[i] = static_cast<float>(w[i] + d[i]);
      float newScale, newBias;
      if (quantizer.fit(merged.data(), size, &newScale, &newBias))
        return false;
      scale = asStored(newScale, scales.dtype);
      bias = asStored(newBias, biases.dtype);
      if (!std::isfinite(scale) || !std::isfinite(bias))
        return false;
    }
    for (uint64_t i = 0; i < size; ++i) {
      const unsigned old = matrix.packed(first + at + i);
      double step = scale == 0 ? 0 : (double(merged[i]) - bias) / scale;
      numbers[i] = isKept ? old
                          : static_cast<unsigned>(std::clamp(
                                std::nearbyint(step), 0.0, double(most)));
      if (survival) {
        double s = isKept ? 0 : scale * numbers[i] + bias - w[i];
        survival->add(d[i], s, numbers[i] != old);
      }
    }
    const uint64_t in = at / size; // of the piece
    if (part == Part::Scales)
      storeRounded(&scale, 1, scales.dtype,
                   to + in * rt::dtypeBytes(scales.dtype));
    else if (part == Part::Biases)
      storeRounded(&bias, 1, biases.dtype,
                   to + in * rt::dtypeBytes(biases.dtype));
    else if (grouping.bits == 8)
      std::copy(numbers.begin(), numbers.end(), to + at);
    else
      for (uint64_t i = 0; i < size; i += 2)
        to[(at + i) / 2] = static_cast<char>(numbers[i] | numbers[i + 1] << 4);
  }
  return true;
}

bool UpdatedMatrix::measure(uint64_t first, uint64_t count, Grouping grouping,
                            Survival &survival) const {
  const Quantizer quantizer(grouping.bits, grouping.size);
  const Piece piece = load(first, count);
  QuantizedGroups groups[2];
  std::vector<float> restored[2];
  for (int isNew : {0, 1}) {
    std::vector<float> values(count);
    for (uint64_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(piece.w[i] + (isNew ? piece.d[i] : 0));
    if (quantizer.quantize(values.data(), count, groups[isNew]))
      return false;
    restored[isNew].resize(count);
    quantizer.dequantize(groups[isNew], restored[isNew].data());
  }
  auto number = [&](int isNew, uint64_t i) {
    const std::vector<uint8_t> &packed = groups[isNew].packed;
    return grouping.bits == 8 ? packed[i] : packed[i / 2] >> (i % 2 * 4) & 15;
  };
  for (uint64_t i = 0; i < count; ++i)
    survival.add(piece.d[i], double(restored[1][i]) - double(restored[0][i]),
                 number(0, i) != number(1, i));
  return true;
}
