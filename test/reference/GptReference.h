//===- GptReference.h - Ops of decoders before Llama, as naive loops ------===//
//
// See Reference.h.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "test/reference/Reference.h"

#include <string>

namespace hone::reference {

/// `function` is the word of hone.activation.
Matrix activation(const std::string &function, const Matrix &x);
Matrix activationAdjoint(const std::string &function, const Matrix &dy,
                         const Matrix &x);

/// Mean and 1 / sqrt(variance + eps) of each row.
Matrix layerStatistics(const Matrix &x, double eps);
struct LayerNorm {
  Matrix weight, bias; ///< one row each
  double eps;
};
Matrix layerNorm(const Matrix &x, const LayerNorm &norm);
Matrix layerNormAdjoint(const Matrix &dy, const Matrix &x,
                        const LayerNorm &norm);
struct LayerNormGradients {
  Matrix dw, db;
};
LayerNormGradients layerNormParameterAdjoint(const Matrix &dy, const Matrix &x,
                                             double eps);
/// A tangent that is zero is a null pointer.
struct LayerNormTangents {
  const Matrix *tx, *tw, *tb;
};
Matrix layerNormTangent(const Matrix &x, const LayerNorm &norm,
                        const LayerNormTangents &tangents);

Matrix positionEmbedding(const Rows &starts, const Matrix &table,
                         int64_t offset);
Matrix positionEmbeddingParameterAdjoint(const Matrix &dy, const Rows &starts,
                                         int64_t positions, int64_t offset);

Matrix columns(const Matrix &x, int64_t from, int64_t count);
Matrix columnsAdjoint(const Matrix &dy, int64_t from, int64_t features);

} // namespace hone::reference
