//===- Reference.cpp - Every hone op as naive loops in double -------------===//
//
// Slow and obvious on purpose; see Reference.h.
//
//===----------------------------------------------------------------------===//

#include "test/reference/Reference.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hone::reference {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Matrix add(const Matrix &a, const Matrix &b) {
  Matrix sum = a;
  for (size_t i = 0; i < sum.values.size(); ++i)
    sum.values[i] += b.values[i];
  return sum;
}

Matrix scale(const Matrix &a, double factor) {
  Matrix result = a;
  for (double &value : result.values)
    value *= factor;
  return result;
}

Matrix transpose(const Matrix &a) {
  Matrix result(a.columns, a.rows);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j)
      result(j, i) = a(i, j);
  return result;
}

Matrix product(const Matrix &a, const Matrix &b) {
  Matrix result(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.columns; ++j)
      for (int64_t k = 0; k < a.columns; ++k)
        result(i, j) += a(i, k) * b(k, j);
  return result;
}

double roundToBfloat16(double value, uint32_t random) {
  int exponent;
  std::frexp(value, &exponent);
  double unit = std::ldexp(1.0, exponent - 8);
  double near = std::trunc(value / unit);
  double rest = std::abs(value / unit - near);
  bool isFar = random >= 65536 * (1 - rest);
  return (near + (isFar ? std::copysign(1.0, value) : 0)) * unit;
}

double dot(const Matrix &a, const Matrix &b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i)
    sum += a.values[i] * b.values[i];
  return sum;
}

Matrix embedding(const Rows &ids, const Matrix &table, double scale) {
  Matrix y(ids.size(), table.columns);
  for (int64_t i = 0; i < y.rows; ++i)
    for (int64_t j = 0; j < y.columns; ++j)
      y(i, j) = scale * table(ids[i], j);
  return y;
}

Matrix linear(const Matrix &x, const Matrix &w, const Matrix *bias) {
  Matrix y = product(x, transpose(w));
  for (int64_t i = 0; bias && i < y.rows; ++i)
    for (int64_t j = 0; j < y.columns; ++j)
      y(i, j) += (*bias)(0, j);
  return y;
}

Matrix linearAdjoint(const Matrix &dy, const Matrix &w) {
  return product(dy, w);
}

static Matrix masked(const Matrix &x, const Lora &lora) {
  Matrix result = x;
  for (size_t i = 0; i < lora.mask.values.size(); ++i)
    result.values[i] *= lora.mask.values[i];
  return result;
}

Matrix loraLinear(const Matrix &x, const Lora &lora, const Matrix *bias) {
  Matrix h = product(masked(x, lora), transpose(lora.a));
  return add(linear(x, lora.w, bias),
             scale(product(h, transpose(lora.b)), lora.scale));
}

Matrix loraLinearAdjoint(const Matrix &dy, const Lora &lora) {
  Matrix u = scale(product(dy, lora.b), lora.scale);
  return add(product(dy, lora.w), masked(product(u, lora.a), lora));
}

LoraGradients loraParameterAdjoint(const Matrix &dy, const Matrix &x,
                                   const Lora &lora) {
  Matrix kept = masked(x, lora), h = product(kept, transpose(lora.a));
  return {scale(product(transpose(product(dy, lora.b)), kept), lora.scale),
          scale(product(transpose(dy), h), lora.scale)};
}

Matrix rowLengths(const Lora &lora) {
  Matrix sum = add(lora.w, scale(product(lora.b, lora.a), lora.scale));
  Matrix lengths(1, sum.rows);
  for (int64_t j = 0; j < sum.rows; ++j) {
    for (int64_t i = 0; i < sum.columns; ++i)
      lengths(0, j) += sum(j, i) * sum(j, i);
    lengths(0, j) = std::sqrt(lengths(0, j));
  }
  return lengths;
}

Matrix rescale(const Matrix &x, const Matrix &magnitude, const Matrix &lengths,
               const Matrix *bias) {
  Matrix y = x;
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t j = 0; j < x.columns; ++j)
      y(i, j) = x(i, j) * magnitude(0, j) / lengths(0, j) +
                (bias ? (*bias)(0, j) : 0);
  return y;
}

Matrix rescaleParameterAdjoint(const Matrix &dy, const Matrix &x,
                               const Matrix &lengths) {
  Matrix dm(1, x.columns);
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t j = 0; j < x.columns; ++j)
      dm(0, j) += dy(i, j) * x(i, j) / lengths(0, j);
  return dm;
}

Matrix loraParameterTangent(const Matrix &x, const Lora &lora, const Matrix *ta,
                            const Matrix *tb) {
  Matrix ty(x.rows, lora.b.rows), kept = masked(x, lora);
  if (ta)
    ty = add(ty, product(product(kept, transpose(*ta)), transpose(lora.b)));
  if (tb)
    ty = add(ty, product(product(kept, transpose(lora.a)), transpose(*tb)));
  return scale(ty, lora.scale);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Matrix linearParameterAdjoint(const Matrix &dy, const Matrix &x) {
  return product(transpose(dy), x);
}

Matrix biasAdjoint(const Matrix &dy) {
  Matrix db(1, dy.columns);
  for (int64_t i = 0; i < dy.rows; ++i)
    for (int64_t j = 0; j < dy.columns; ++j)
      db(0, j) += dy(i, j);
  return db;
}

Matrix embeddingParameterAdjoint(const Matrix &dy, const Rows &ids,
                                 int64_t vocabulary) {
  Matrix dt(vocabulary, dy.columns);
  for (int64_t i = 0; i < dy.rows; ++i)
    for (int64_t j = 0; j < dy.columns; ++j)
      dt(ids[i], j) += dy(i, j);
  return dt;
}

/// Each head of each row as a row of its own, which is how they lie.
static Matrix headsAsRows(Matrix x, const Norm &norm) {
  x.rows *= norm.heads;
  x.columns /= norm.heads;
  return x;
}

static Matrix rowsAsHeads(Matrix x, const Norm &norm) {
  x.rows /= norm.heads;
  x.columns *= norm.heads;
  return x;
}

static Matrix reciprocalRmsOfRows(const Matrix &x, double eps) {
  Matrix r(x.rows, 1);
  for (int64_t i = 0; i < x.rows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < x.columns; ++j)
      sum += x(i, j) * x(i, j);
    r(i, 0) = 1 / std::sqrt(sum / x.columns + eps);
  }
  return r;
}

Matrix reciprocalRms(const Matrix &x, const Norm &norm) {
  return rowsAsHeads(reciprocalRmsOfRows(headsAsRows(x, norm), norm.eps), norm);
}

Matrix rmsNorm(const Matrix &given, const Matrix &weight, const Norm &norm) {
  Matrix x = headsAsRows(given, norm), y = x;
  Matrix r = reciprocalRmsOfRows(x, norm.eps);
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t j = 0; j < x.columns; ++j)
      y(i, j) = x(i, j) * r(i, 0) * (norm.offset + weight(0, j));
  return rowsAsHeads(y, norm);
}

Matrix rmsNormParameterAdjoint(const Matrix &givenDy, const Matrix &given,
                               const Norm &norm) {
  Matrix x = headsAsRows(given, norm), dy = headsAsRows(givenDy, norm);
  Matrix r = reciprocalRmsOfRows(x, norm.eps), dw(1, x.columns);
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t j = 0; j < x.columns; ++j)
      dw(0, j) += dy(i, j) * x(i, j) * r(i, 0);
  return dw;
}

Matrix rmsNormAdjoint(const Matrix &givenDy, const Matrix &given,
                      const Matrix &weight, const Norm &norm) {
  Matrix x = headsAsRows(given, norm), g = headsAsRows(givenDy, norm), dx = x;
  Matrix r = reciprocalRmsOfRows(x, norm.eps);
  for (int64_t i = 0; i < x.rows; ++i) {
    double mean = 0;
    for (int64_t j = 0; j < x.columns; ++j) {
      g(i, j) *= norm.offset + weight(0, j);
      mean += g(i, j) * x(i, j) / x.columns;
    }
    for (int64_t j = 0; j < x.columns; ++j)
      dx(i, j) = r(i, 0) * (g(i, j) - x(i, j) * r(i, 0) * r(i, 0) * mean);
  }
  return rowsAsHeads(dx, norm);
}

Matrix rmsNormTangent(const Matrix &givenTx, const Matrix &given,
                      const Matrix &weight, const Norm &norm) {
  Matrix x = headsAsRows(given, norm), tx = headsAsRows(givenTx, norm), ty = x;
  Matrix r = reciprocalRmsOfRows(x, norm.eps);
  for (int64_t i = 0; i < x.rows; ++i) {
    double mean = 0;
    for (int64_t j = 0; j < x.columns; ++j)
      mean += tx(i, j) * x(i, j) / x.columns;
    for (int64_t j = 0; j < x.columns; ++j)
      ty(i, j) = (norm.offset + weight(0, j)) * r(i, 0) *
                 (tx(i, j) - x(i, j) * r(i, 0) * r(i, 0) * mean);
  }
  return rowsAsHeads(ty, norm);
}

Matrix rope(const Matrix &x, const Rows &starts, int64_t heads, double theta,
            int direction) {
  Matrix y = x;
  int64_t d = x.columns / heads, half = d / 2;
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t j = 0; j < half; ++j) {
        double angle =
            direction * double(i - starts[i]) * std::pow(theta, -2.0 * j / d);
        double a = x(i, h * d + j), b = x(i, h * d + half + j);
        y(i, h * d + j) = a * std::cos(angle) - b * std::sin(angle);
        y(i, h * d + half + j) = b * std::cos(angle) + a * std::sin(angle);
      }
  return y;
}

static double relu(double x) { return std::max(x, 0.0); }
static double reluSlope(double x) { return x > 0; }

static double gelu(double x) {
  return x * 0.5 * (1 + std::erf(x / std::sqrt(2)));
}
static double geluSlope(double x) {
  return 0.5 * (1 + std::erf(x / std::sqrt(2))) +
         x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
}

static double geluTanh(double x) {
  double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(u));
}
static double geluTanhSlope(double x) {
  double c = std::sqrt(2 / M_PI);
  double t = std::tanh(c * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x);
}

static double silu(double x) { return x / (1 + std::exp(-x)); }
static double siluSlope(double x) {
  double s = 1 / (1 + std::exp(-x));
  return s * (1 + x * (1 - s));
}

const Activation activations[4] = {{"relu", relu, reluSlope},
                                   {"gelu", gelu, geluSlope},
                                   {"gelu_tanh", geluTanh, geluTanhSlope},
                                   {"silu", silu, siluSlope}};

Matrix gatedActivation(const Activation &f, const Matrix &gate,
                       const Matrix &up) {
  Matrix y = gate;
  for (size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = f.value(gate.values[i]) * up.values[i];
  return y;
}

GatedGradients gatedActivationAdjoint(const Activation &f, const Matrix &dy,
                                      const Matrix &gate, const Matrix &up) {
  GatedGradients result{gate, up};
  for (size_t i = 0; i < dy.values.size(); ++i) {
    double g = gate.values[i];
    result.dgate.values[i] = dy.values[i] * up.values[i] * f.slope(g);
    result.dup.values[i] = dy.values[i] * f.value(g);
  }
  return result;
}

Matrix gatedActivationTangent(const Activation &f, const Matrix &gate,
                              const Matrix &up, const Matrix *tgate,
                              const Matrix *tup) {
  Matrix ty(gate.rows, gate.columns);
  for (size_t i = 0; i < ty.values.size(); ++i) {
    double g = gate.values[i];
    if (tgate)
      ty.values[i] += tgate->values[i] * up.values[i] * f.slope(g);
    if (tup)
      ty.values[i] += tup->values[i] * f.value(g);
  }
  return ty;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// q_i . k_j of query head h.
static double score(const Matrix &q, const Matrix &k, int64_t i, int64_t j,
                    int64_t h, const Heads &heads) {
  int64_t d = q.columns / heads.heads, kv = h / (heads.heads / heads.kvHeads);
  double sum = 0;
  for (int64_t c = 0; c < d; ++c)
    sum += q(i, h * d + c) * k(j, kv * d + c);
  return sum;
}

/// The first key that row i sees.
static int64_t firstKey(const Rows &starts, int64_t i, const Heads &heads) {
  int64_t start = starts[i];
  return heads.window ? std::max(start, i - heads.window + 1) : start;
}

Attention attention(const Matrix &q, const Matrix &k, const Matrix &v,
                    const Rows &starts, const Heads &heads) {
  Attention result{Matrix(q.rows, q.columns), Matrix(q.rows, 2 * heads.heads)};
  int64_t d = q.columns / heads.heads;
  for (int64_t i = 0; i < q.rows; ++i)
    for (int64_t h = 0; h < heads.heads; ++h) {
      int64_t kv = h / (heads.heads / heads.kvHeads);
      double maximum = -HUGE_VAL, sum = 0;
      for (int64_t j = firstKey(starts, i, heads); j <= i; ++j)
        maximum = std::max(maximum, heads.scale * score(q, k, i, j, h, heads));
      for (int64_t j = firstKey(starts, i, heads); j <= i; ++j)
        sum += std::exp(heads.scale * score(q, k, i, j, h, heads) - maximum);
      result.normalizer(i, 2 * h) = maximum;
      result.normalizer(i, 2 * h + 1) = 1 / sum;
      for (int64_t j = firstKey(starts, i, heads); j <= i; ++j) {
        double p =
            std::exp(heads.scale * score(q, k, i, j, h, heads) - maximum) / sum;
        for (int64_t c = 0; c < d; ++c)
          result.y(i, h * d + c) += p * v(j, kv * d + c);
      }
    }
  return result;
}

AttentionGradients attentionAdjoint(const Matrix &dy, const Matrix &q,
                                    const Matrix &k, const Matrix &v,
                                    const Rows &starts, const Heads &heads) {
  Attention forward = attention(q, k, v, starts, heads);
  AttentionGradients result{Matrix(q.rows, q.columns),
                            Matrix(k.rows, k.columns),
                            Matrix(v.rows, v.columns)};
  int64_t d = q.columns / heads.heads;
  for (int64_t i = 0; i < q.rows; ++i)
    for (int64_t h = 0; h < heads.heads; ++h) {
      int64_t kv = h / (heads.heads / heads.kvHeads);
      double term = 0;
      for (int64_t c = 0; c < d; ++c)
        term += dy(i, h * d + c) * forward.y(i, h * d + c);
      for (int64_t j = firstKey(starts, i, heads); j <= i; ++j) {
        double p = std::exp(heads.scale * score(q, k, i, j, h, heads) -
                            forward.normalizer(i, 2 * h)) *
                   forward.normalizer(i, 2 * h + 1);
        double ds = p * (score(dy, v, i, j, h, heads) - term);
        for (int64_t c = 0; c < d; ++c) {
          result.dq(i, h * d + c) += heads.scale * ds * k(j, kv * d + c);
          result.dk(j, kv * d + c) += heads.scale * ds * q(i, h * d + c);
          result.dv(j, kv * d + c) += p * dy(i, h * d + c);
        }
      }
    }
  return result;
}

Matrix attentionTangent(const Matrix &q, const Matrix &k, const Matrix &v,
                        const Rows &starts, const AttentionTangents &tangents,
                        const Heads &heads) {
  Attention forward = attention(q, k, v, starts, heads);
  Matrix ty(q.rows, q.columns);
  int64_t d = q.columns / heads.heads;
  for (int64_t i = 0; i < q.rows; ++i)
    for (int64_t h = 0; h < heads.heads; ++h) {
      int64_t kv = h / (heads.heads / heads.kvHeads);
      int64_t start = firstKey(starts, i, heads);
      std::vector<double> p, ts;
      double mean = 0;
      for (int64_t j = start; j <= i; ++j) {
        double dots =
            (tangents.tq ? score(*tangents.tq, k, i, j, h, heads) : 0) +
            (tangents.tk ? score(q, *tangents.tk, i, j, h, heads) : 0);
        p.push_back(std::exp(heads.scale * score(q, k, i, j, h, heads) -
                             forward.normalizer(i, 2 * h)) *
                    forward.normalizer(i, 2 * h + 1));
        ts.push_back(heads.scale * dots);
        mean += p.back() * ts.back();
      }
      for (int64_t j = start; j <= i; ++j)
        for (int64_t c = 0; c < d; ++c) {
          double tv = tangents.tv ? (*tangents.tv)(j, kv * d + c) : 0;
          ty(i, h * d + c) +=
              p[j - start] * (ts[j - start] - mean) * v(j, kv * d + c) +
              p[j - start] * tv;
        }
    }
  return ty;
}

//===----------------------------------------------------------------------===//
// Loss
//===----------------------------------------------------------------------===//

/// The maximum of a row of logits, and the sum of exp(logit - maximum).
static std::pair<double, double> exponentials(const Matrix &logits, int64_t i) {
  double maximum = -HUGE_VAL, sum = 0;
  for (int64_t j = 0; j < logits.columns; ++j)
    maximum = std::max(maximum, logits(i, j));
  for (int64_t j = 0; j < logits.columns; ++j)
    sum += std::exp(logits(i, j) - maximum);
  return {maximum, sum};
}

Loss linearCrossEntropy(const Matrix &x, const Matrix &w, const Rows &targets,
                        double smoothing) {
  Loss result{0, Matrix(x.rows, x.columns)};
  Matrix logits = product(x, transpose(w));
  double share = smoothing / double(w.rows);
  for (int64_t i = 0; i < x.rows; ++i) {
    if (targets[i] == -100)
      continue;
    auto [maximum, sum] = exponentials(logits, i);
    double lse = maximum + std::log(sum);
    for (int64_t j = 0; j < w.rows; ++j)
      result.loss += share * (lse - logits(i, j));
    result.loss += (1 - smoothing) * (lse - logits(i, targets[i]));
    double others = 0; // 1 - p(target), which would cancel
    for (int64_t j = 0; j < w.rows; ++j)
      others += j == targets[i] ? 0 : std::exp(logits(i, j) - lse);
    for (int64_t j = 0; j < w.rows; ++j) {
      double slope = (j == targets[i] ? smoothing - others
                                      : std::exp(logits(i, j) - lse)) -
                     share;
      for (int64_t c = 0; c < x.columns; ++c)
        result.dx(i, c) += slope * w(j, c);
    }
  }
  return result;
}

double linearCrossEntropyTangent(const Matrix &tx, const Matrix &x,
                                 const Matrix &w, const Rows &targets,
                                 double smoothing) {
  Matrix logits = product(x, transpose(w)), changes = product(tx, transpose(w));
  double tloss = 0;
  for (int64_t i = 0; i < x.rows; ++i) {
    if (targets[i] == -100)
      continue;
    auto [maximum, sum] = exponentials(logits, i);
    for (int64_t j = 0; j < w.rows; ++j)
      tloss += (std::exp(logits(i, j) - maximum) / sum -
                smoothing / double(w.rows)) *
               (changes(i, j) - changes(i, targets[i]));
  }
  return tloss;
}

Matrix linearCrossEntropyParameterAdjoint(const Matrix &x, const Matrix &w,
                                          const Rows &targets,
                                          double smoothing) {
  Matrix logits = product(x, transpose(w)), dw(w.rows, w.columns);
  for (int64_t i = 0; i < x.rows; ++i) {
    if (targets[i] == -100)
      continue;
    auto [maximum, sum] = exponentials(logits, i);
    double lse = maximum + std::log(sum);
    double others = 0; // as in the loss
    for (int64_t j = 0; j < w.rows; ++j)
      others += j == targets[i] ? 0 : std::exp(logits(i, j) - lse);
    for (int64_t j = 0; j < w.rows; ++j) {
      double slope = (j == targets[i] ? smoothing - others
                                      : std::exp(logits(i, j) - lse)) -
                     smoothing / double(w.rows);
      for (int64_t c = 0; c < x.columns; ++c)
        dw(j, c) += slope * x(i, c);
    }
  }
  return dw;
}

void sgdStep(Matrix &theta, const Matrix &gradient, Matrix *momentumBuffer,
             const SgdRates &rates) {
  for (size_t i = 0; i < theta.values.size(); ++i) {
    double g = rates.gradientScale * gradient.values[i] +
               rates.weightDecay * theta.values[i];
    if (momentumBuffer) {
      g += rates.momentum * momentumBuffer->values[i];
      momentumBuffer->values[i] = g;
    }
    theta.values[i] -= rates.learningRate * g;
  }
}

void adamwStep(Matrix &theta, const Matrix &gradient, Matrix &first,
               Matrix &second, const AdamwRates &rates) {
  for (size_t i = 0; i < theta.values.size(); ++i) {
    double g = rates.gradientScale * gradient.values[i];
    double &m = first.values[i], &v = second.values[i];
    m = rates.beta1 * m + (1 - rates.beta1) * g;
    v = rates.beta2 * v + (1 - rates.beta2) * g * g;
    theta.values[i] *= 1 - rates.learningRate * rates.weightDecay;
    theta.values[i] -= rates.learningRate / rates.biasCorrection1 * m /
                       (std::sqrt(v / rates.biasCorrection2) + rates.epsilon);
  }
}

void lionStep(Matrix &theta, const Matrix &gradient, Matrix &momentum,
              const LionRates &rates) {
  for (size_t i = 0; i < theta.values.size(); ++i) {
    double g = rates.gradientScale * gradient.values[i];
    double &m = momentum.values[i];
    double c = rates.beta1 * m + (1 - rates.beta1) * g;
    theta.values[i] *= 1 - rates.learningRate * rates.weightDecay;
    theta.values[i] -= rates.learningRate * ((c > 0) - (c < 0));
    m = rates.beta2 * m + (1 - rates.beta2) * g;
  }
}

void adafactorStep(Matrix &theta, const Matrix &gradient,
                   AdafactorMoments &moments, const AdafactorRates &rates,
                   int step) {
  const int64_t rows = theta.rows, columns = theta.columns;
  const double beta = 1 - std::pow(double(step), rates.decayRate);
  std::vector<double> newRows(rows), newColumns(columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double g = rates.gradientScale * gradient(i, j);
      double square = g * g + rates.epsilon;
      newRows[i] += square / double(columns);
      newColumns[j] += square / double(rows);
    }
  auto move = [&](std::vector<double> &moment, const std::vector<double> &now) {
    moment.resize(now.size());
    for (size_t i = 0; i < now.size(); ++i)
      moment[i] = beta * moment[i] + (1 - beta) * now[i];
  };
  move(moments.rows, newRows);
  move(moments.columns, newColumns);
  double mean = 0;
  for (double row : moments.rows)
    mean += row / double(rows);
  Matrix update(rows, columns);
  double squares = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      update(i, j) = rates.gradientScale * gradient(i, j) /
                     std::sqrt(moments.rows[i] * moments.columns[j] / mean);
      squares += update(i, j) * update(i, j);
    }
  const double rms = std::sqrt(squares / double(rows * columns));
  const double scale =
      rates.learningRate / std::max(1.0, rms / rates.clipThreshold);
  for (size_t i = 0; i < theta.values.size(); ++i)
    theta.values[i] =
        theta.values[i] * (1 - rates.learningRate * rates.weightDecay) -
        scale * update.values[i];
}

void sinkgdStep(Matrix &theta, const Matrix &gradient, double learningRate,
                double weightDecay, int rounds, bool isVector) {
  Matrix x = gradient;
  const int64_t rows = x.rows, columns = x.columns;
  // Rows of zeros are no rows.
  int64_t counted = 0;
  for (int64_t i = 0; i < rows; ++i) {
    bool isZero = true;
    for (int64_t j = 0; j < columns; ++j)
      isZero &= x(i, j) == 0;
    counted += !isZero;
  }
  for (int round = 0; round < rounds; ++round) {
    for (int64_t i = 0; i < rows; ++i) {
      double squares = 0;
      for (int64_t j = 0; j < columns; ++j)
        squares += x(i, j) * x(i, j);
      for (int64_t j = 0; j < columns && squares > 0; ++j)
        x(i, j) *= std::sqrt(double(columns)) / std::sqrt(squares);
    }
    for (int64_t j = 0; j < columns && !isVector; ++j) {
      double squares = 0;
      for (int64_t i = 0; i < rows; ++i)
        squares += x(i, j) * x(i, j);
      for (int64_t i = 0; i < rows && squares > 0; ++i)
        x(i, j) *= std::sqrt(double(counted)) / std::sqrt(squares);
    }
  }
  for (size_t i = 0; i < theta.values.size(); ++i)
    theta.values[i] = theta.values[i] * (1 - learningRate * weightDecay) -
                      learningRate * x.values[i];
}

std::vector<double> dynamicCode(bool isSigned) {
  // As written there: boundaries by linspace, then the means of neighbours.
  std::vector<double> data = {0, 1};
  for (int i = 0; i < 7; ++i) {
    const int items = (isSigned ? 1 << i : 1 << (i + 1)) + 1;
    std::vector<double> boundaries;
    for (int k = 0; k < items; ++k)
      boundaries.push_back(0.1 + 0.9 * k / (items - 1));
    for (int k = 0; k + 1 < items; ++k) {
      double mean = (boundaries[k] + boundaries[k + 1]) / 2;
      double value = std::pow(10, i - 6) * mean;
      data.push_back(value);
      if (isSigned)
        data.push_back(-value);
    }
  }
  std::sort(data.begin(), data.end());
  for (double &value : data)
    value = static_cast<float>(value); // as torch keeps it
  return data;
}

CodedMoment::CodedMoment(std::vector<double> code, bool isFloored,
                         std::vector<size_t> starts, size_t block)
    : code(std::move(code)), isFloored(isFloored) {
  size_t blocks = 0;
  for (size_t tensor = 0; tensor + 1 < starts.size(); ++tensor)
    for (size_t i = starts[tensor]; i < starts[tensor + 1]; ++i) {
      blocks += (i - starts[tensor]) % block == 0;
      blockOf.push_back(blocks - 1);
    }
  codes.resize(blockOf.size());
  largest.resize(blocks);
}

Matrix CodedMoment::decoded() const {
  Matrix moment(1, static_cast<int64_t>(codes.size()));
  for (size_t i = 0; i < codes.size(); ++i)
    moment.values[i] = code[codes[i]] * largest[blockOf[i]];
  return moment;
}

void CodedMoment::encode(const Matrix &moment) {
  std::fill(largest.begin(), largest.end(), 0.0);
  for (size_t i = 0; i < codes.size(); ++i)
    largest[blockOf[i]] =
        std::max(largest[blockOf[i]], std::abs(moment.values[i]));
  for (size_t i = 0; i < codes.size(); ++i) {
    double scale = largest[blockOf[i]];
    double ratio = scale > 0 ? moment.values[i] / scale : 0;
    auto above = std::lower_bound(code.begin() + 1, code.end() - 1, ratio);
    int best = static_cast<int>(above - code.begin());
    // Half way, as a float32: a number within its rounding may go either way.
    best -= ratio <= static_cast<float>((code[best - 1] + code[best]) / 2);
    if (isFloored && ratio > 0)
      best = std::max(best, 1);
    codes[i] = best;
  }
}

double directionalDerivative(const std::function<Matrix(const Matrix &)> &f,
                             const Matrix &x, const Matrix &direction,
                             const Matrix &dy) {
  constexpr double step = 1e-5;
  double ahead = dot(dy, f(add(x, scale(direction, step))));
  double behind = dot(dy, f(add(x, scale(direction, -step))));
  return (ahead - behind) / (2 * step);
}

} // namespace hone::reference
