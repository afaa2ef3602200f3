//===- Reference.h - Every hone op as naive loops in double ---------------===//
//
// The truth that kernels are compared with: one loop nest for each formula of
// the dialect, no blocking, no reuse. Adjoints and tangents are written from
// their own formulas and are themselves checked by finite differences.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hone::reference {

/// Row-major; a vector is a matrix of one row.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(int64_t rows, int64_t columns, double value = 0)
      : rows(rows), columns(columns), values(rows * columns, value) {}

  double &operator()(int64_t i, int64_t j) { return values[i * columns + j]; }
  double operator()(int64_t i, int64_t j) const {
    return values[i * columns + j];
  }
};

/// For each row, the row where its sequence begins; or its target.
using Rows = std::vector<int32_t>;

Matrix add(const Matrix &a, const Matrix &b);
Matrix scale(const Matrix &a, double factor);
Matrix transpose(const Matrix &a);
Matrix product(const Matrix &a, const Matrix &b);
double dot(const Matrix &a, const Matrix &b);

/// One of the two neighbours of `value` in bfloat16: the one further from zero
/// for the largest of the random numbers in [0, 65536), for as many of them as
/// `value` is close to it.
double roundToBfloat16(double value, uint32_t random);

Matrix embedding(const Rows &ids, const Matrix &table, double scale = 1);

/// x W^T + bias; `bias` may be null.
Matrix linear(const Matrix &x, const Matrix &w, const Matrix *bias);
Matrix linearAdjoint(const Matrix &dy, const Matrix &w);
/// dy^T x.
Matrix linearParameterAdjoint(const Matrix &dy, const Matrix &x);
/// The sum of the rows.
Matrix biasAdjoint(const Matrix &dy);
/// Of a table of `vocabulary` rows.
Matrix embeddingParameterAdjoint(const Matrix &dy, const Rows &ids,
                                 int64_t vocabulary);

struct Lora {
  Matrix w, a, b;
  double scale;
  Matrix mask = {}; ///< of A's input, an element for each; empty: ones
};
Matrix loraLinear(const Matrix &x, const Lora &lora, const Matrix *bias);
Matrix loraLinearAdjoint(const Matrix &dy, const Lora &lora);
struct LoraGradients {
  Matrix da, db;
};
LoraGradients loraParameterAdjoint(const Matrix &dy, const Matrix &x,
                                   const Lora &lora);

/// |w_j + scale b_j a| of each row j: DoRA.
Matrix rowLengths(const Lora &lora);
/// x_ij m_j / n_j + bias_j; `bias` may be null.
Matrix rescale(const Matrix &x, const Matrix &magnitude, const Matrix &lengths,
               const Matrix *bias);
/// With respect to the magnitude.
Matrix rescaleParameterAdjoint(const Matrix &dy, const Matrix &x,
                               const Matrix &lengths);

/// A tangent that is zero is a null pointer.
Matrix loraParameterTangent(const Matrix &x, const Lora &lora, const Matrix *ta,
                            const Matrix *tb);

struct Norm {
  double eps;
  int64_t heads = 1; ///< slices of the features that are normalised alone
  double offset = 0; ///< added to the weight
};
/// 1/sqrt(mean(x^2) + eps) of each row and head.
Matrix reciprocalRms(const Matrix &x, const Norm &norm);
Matrix rmsNorm(const Matrix &x, const Matrix &weight, const Norm &norm);
Matrix rmsNormAdjoint(const Matrix &dy, const Matrix &x, const Matrix &weight,
                      const Norm &norm);
/// [1, features of a head]
Matrix rmsNormParameterAdjoint(const Matrix &dy, const Matrix &x,
                               const Norm &norm);
Matrix rmsNormTangent(const Matrix &tx, const Matrix &x, const Matrix &weight,
                      const Norm &norm);

/// `direction` 1 rotates, -1 rotates back.
Matrix rope(const Matrix &x, const Rows &starts, int64_t heads, double theta,
            int direction);

struct Heads {
  int64_t heads, kvHeads;
  double scale;
  int64_t window = 0; ///< keys that a row sees at most; 0: no bound
};
struct Attention {
  Matrix y, normalizer;
};
Attention attention(const Matrix &q, const Matrix &k, const Matrix &v,
                    const Rows &starts, const Heads &heads);
struct AttentionGradients {
  Matrix dq, dk, dv;
};
AttentionGradients attentionAdjoint(const Matrix &dy, const Matrix &q,
                                    const Matrix &k, const Matrix &v,
                                    const Rows &starts, const Heads &heads);
/// A tangent that is zero is a null pointer.
struct AttentionTangents {
  const Matrix *tq, *tk, *tv;
};
Matrix attentionTangent(const Matrix &q, const Matrix &k, const Matrix &v,
                        const Rows &starts, const AttentionTangents &tangents,
                        const Heads &heads);

/// An activation function and its derivative.
struct Activation {
  const char *name; ///< as ops have it
  double (*value)(double);
  double (*slope)(double);
};
extern const Activation activations[4];
Matrix gatedActivation(const Activation &f, const Matrix &gate,
                       const Matrix &up);
struct GatedGradients {
  Matrix dgate, dup;
};
GatedGradients gatedActivationAdjoint(const Activation &f, const Matrix &dy,
                                      const Matrix &gate, const Matrix &up);
/// A tangent that is zero is a null pointer.
Matrix gatedActivationTangent(const Activation &f, const Matrix &gate,
                              const Matrix &up, const Matrix *tgate,
                              const Matrix *tup);

struct Loss {
  double loss;
  Matrix dx;
};
/// A label is `1 - smoothing` of the target and `smoothing` of all words alike.
Loss linearCrossEntropy(const Matrix &x, const Matrix &w, const Rows &targets,
                        double smoothing = 0);
double linearCrossEntropyTangent(const Matrix &tx, const Matrix &x,
                                 const Matrix &w, const Rows &targets,
                                 double smoothing = 0);
/// d(loss)/d(w).
Matrix linearCrossEntropyParameterAdjoint(const Matrix &x, const Matrix &w,
                                          const Rows &targets,
                                          double smoothing = 0);

/// The parameters of torch.optim.SGD after one step; `momentumBuffer` may be
/// null.
struct SgdRates {
  double gradientScale, learningRate, weightDecay, momentum;
};
void sgdStep(Matrix &theta, const Matrix &gradient, Matrix *momentumBuffer,
             const SgdRates &rates);

/// The parameters of torch.optim.AdamW after one step.
struct AdamwRates {
  double gradientScale, learningRate, weightDecay, beta1, beta2, epsilon,
      biasCorrection1, biasCorrection2;
};
void adamwStep(Matrix &theta, const Matrix &gradient, Matrix &first,
               Matrix &second, const AdamwRates &rates);

/// Chen et al. 2023, program 1, with decoupled decay.
struct LionRates {
  double gradientScale, learningRate, weightDecay, beta1, beta2;
};
void lionStep(Matrix &theta, const Matrix &gradient, Matrix &momentum,
              const LionRates &rates);

/// Shazeer and Stern 2018, algorithms 4 and 5, without a relative step; `step`
/// counts from 1. A vector has one row, and keeps each element's moment.
struct AdafactorRates {
  double gradientScale, learningRate, weightDecay, epsilon, clipThreshold,
      decayRate;
};
struct AdafactorMoments {
  std::vector<double> rows, columns;
};
void adafactorStep(Matrix &theta, const Matrix &gradient,
                   AdafactorMoments &moments, const AdafactorRates &rates,
                   int step);

/// Scetbon et al. 2025, algorithms 3 and 4, with `rounds` for L; `isVector`:
/// rows alone are normalised.
void sinkgdStep(Matrix &theta, const Matrix &gradient, double learningRate,
                double weightDecay, int rounds, bool isVector);

/// The storage of moments between steps: codes by a table, in blocks of
/// consecutive elements that have one scale.
class CodedMoment {
public:
  /// `code` ascends; `isFloored`: a number that is not zero becomes no zero.
  /// `starts` are the first elements of tensors, and one beyond the last.
  CodedMoment(std::vector<double> code, bool isFloored,
              std::vector<size_t> starts, size_t block);

  Matrix decoded() const;
  void encode(const Matrix &moment);

  std::vector<int> codes;
  std::vector<double> largest; ///< by block

private:
  std::vector<double> code;
  bool isFloored;
  std::vector<size_t> blockOf; ///< by element
};

/// The dynamic code of bitsandbytes' create_dynamic_map with 8 bits.
std::vector<double> dynamicCode(bool isSigned);

/// d/dt <dy, f(x + t * direction)> at 0, by central differences.
double directionalDerivative(const std::function<Matrix(const Matrix &)> &f,
                             const Matrix &x, const Matrix &direction,
                             const Matrix &dy);

} // namespace hone::reference
