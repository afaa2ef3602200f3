//===- GptReference.cpp - Ops of decoders before Llama, as naive loops ----===//
//
// Slow and obvious on purpose; see Reference.h.
//
//===----------------------------------------------------------------------===//

#include "test/reference/GptReference.h"

#include <algorithm>
#include <cmath>

namespace hone::reference {

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static double value(const std::string &function, double x) {
  if (function == "relu")
    return std::max(x, 0.0);
  if (function == "gelu")
    return x * std::erfc(-x / std::sqrt(2.0)) / 2;
  if (function == "gelu_tanh")
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return x / (1 + std::exp(-x));
}

static double slope(const std::string &function, double x) {
  if (function == "relu")
    return x > 0;
  if (function == "gelu")
    return std::erfc(-x / std::sqrt(2.0)) / 2 +
           x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
  if (function == "gelu_tanh") {
    double k = std::sqrt(2 / M_PI);
    double t = std::tanh(k * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) +
           0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x);
  }
  double s = 1 / (1 + std::exp(-x));
  return s * (1 + x * (1 - s));
}

Matrix activation(const std::string &function, const Matrix &x) {
  Matrix y = x;
  for (double &element : y.values)
    element = value(function, element);
  return y;
}

Matrix activationAdjoint(const std::string &function, const Matrix &dy,
                         const Matrix &x) {
  Matrix dx = x;
  for (size_t i = 0; i < dx.values.size(); ++i)
    dx.values[i] = dy.values[i] * slope(function, x.values[i]);
  return dx;
}

//===----------------------------------------------------------------------===//
// Layer normalisation
//===----------------------------------------------------------------------===//

Matrix layerStatistics(const Matrix &x, double eps) {
  Matrix statistics(x.rows, 2);
  for (int64_t i = 0; i < x.rows; ++i) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < x.columns; ++j)
      mean += x(i, j) / x.columns;
    for (int64_t j = 0; j < x.columns; ++j)
      variance += (x(i, j) - mean) * (x(i, j) - mean) / x.columns;
    statistics(i, 0) = mean;
    statistics(i, 1) = 1 / std::sqrt(variance + eps);
  }
  return statistics;
}

/// (x - mean) / sqrt(variance + eps).
static Matrix normal(const Matrix &x, double eps) {
  Matrix s = layerStatistics(x, eps), n = x;
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t j = 0; j < x.columns; ++j)
      n(i, j) = (x(i, j) - s(i, 0)) * s(i, 1);
  return n;
}

Matrix layerNorm(const Matrix &x, const LayerNorm &norm) {
  Matrix y = normal(x, norm.eps);
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t j = 0; j < x.columns; ++j)
      y(i, j) = y(i, j) * norm.weight(0, j) + norm.bias(0, j);
  return y;
}

Matrix layerNormAdjoint(const Matrix &dy, const Matrix &x,
                        const LayerNorm &norm) {
  Matrix n = normal(x, norm.eps), s = layerStatistics(x, norm.eps), dx = x;
  for (int64_t i = 0; i < x.rows; ++i) {
    double mean = 0, along = 0;
    for (int64_t j = 0; j < x.columns; ++j) {
      double g = dy(i, j) * norm.weight(0, j);
      mean += g / x.columns;
      along += g * n(i, j) / x.columns;
    }
    for (int64_t j = 0; j < x.columns; ++j)
      dx(i, j) =
          s(i, 1) * (dy(i, j) * norm.weight(0, j) - mean - n(i, j) * along);
  }
  return dx;
}

LayerNormGradients layerNormParameterAdjoint(const Matrix &dy, const Matrix &x,
                                             double eps) {
  Matrix n = normal(x, eps);
  LayerNormGradients result{Matrix(1, x.columns), Matrix(1, x.columns)};
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t j = 0; j < x.columns; ++j) {
      result.dw(0, j) += dy(i, j) * n(i, j);
      result.db(0, j) += dy(i, j);
    }
  return result;
}

Matrix layerNormTangent(const Matrix &x, const LayerNorm &norm,
                        const LayerNormTangents &tangents) {
  Matrix n = normal(x, norm.eps), s = layerStatistics(x, norm.eps);
  Matrix ty(x.rows, x.columns);
  for (int64_t i = 0; i < x.rows; ++i) {
    double mean = 0, along = 0;
    for (int64_t j = 0; tangents.tx && j < x.columns; ++j) {
      mean += (*tangents.tx)(i, j) / x.columns;
      along += (*tangents.tx)(i, j) * n(i, j) / x.columns;
    }
    for (int64_t j = 0; j < x.columns; ++j) {
      if (tangents.tx)
        ty(i, j) += norm.weight(0, j) * s(i, 1) *
                    ((*tangents.tx)(i, j) - mean - n(i, j) * along);
      if (tangents.tw)
        ty(i, j) += (*tangents.tw)(0, j) * n(i, j);
      if (tangents.tb)
        ty(i, j) += (*tangents.tb)(0, j);
    }
  }
  return ty;
}

//===----------------------------------------------------------------------===//
// Learned positions, slices of features
//===----------------------------------------------------------------------===//

Matrix positionEmbedding(const Rows &starts, const Matrix &table,
                         int64_t offset) {
  Matrix y(starts.size(), table.columns);
  for (int64_t i = 0; i < y.rows; ++i)
    for (int64_t j = 0; j < y.columns; ++j)
      y(i, j) = table(i - starts[i] + offset, j);
  return y;
}

Matrix positionEmbeddingParameterAdjoint(const Matrix &dy, const Rows &starts,
                                         int64_t positions, int64_t offset) {
  Matrix dtable(positions, dy.columns);
  for (int64_t i = 0; i < dy.rows; ++i)
    for (int64_t j = 0; j < dy.columns; ++j)
      dtable(i - starts[i] + offset, j) += dy(i, j);
  return dtable;
}

Matrix columns(const Matrix &x, int64_t from, int64_t count) {
  Matrix y(x.rows, count);
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t j = 0; j < count; ++j)
      y(i, j) = x(i, from + j);
  return y;
}

Matrix columnsAdjoint(const Matrix &dy, int64_t from, int64_t features) {
  Matrix dx(dy.rows, features);
  for (int64_t i = 0; i < dy.rows; ++i)
    for (int64_t j = 0; j < dy.columns; ++j)
      dx(i, from + j) = dy(i, j);
  return dx;
}

} // namespace hone::reference
