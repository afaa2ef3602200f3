//===- BigramModule.cpp - A compiled module written by hand ---------------===//
//
// Every loop is parallel over what it writes and sequential over what it sums,
// so the bits do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "BigramModule.h"

#include "base/OutputFile.h"
#include "base/Philox.h"
#include "formats/Safetensors.h"

#include <cmath>

using namespace hone::rt;

namespace hone::test {

static constexpr int64_t V = bigramVocab, R = bigramRank, rows = bigramMaxRows;
static constexpr uint64_t elements = 2 * R * V;
static constexpr int64_t scratch = (V * 8 + 63) / 64 * 64; // of a thread

namespace {

/// One scalar slot after another, then the arrays; all offsets are constants
/// as in generated code.
enum Scalar : uint64_t {
  LossScale,
  GradientScale,
  Rate,
  WeightDecay,
  Momentum,
  Beta1,
  Beta2,
  Epsilon,
  Correction1,
  Correction2,
  Loss,
  ScalarCount
};

template <typename T, uint32_t Optimizer> struct Bigram {
  static constexpr uint64_t ids = 128;
  static constexpr uint64_t targets = ids + rows * 4;
  static constexpr uint64_t starts = targets + rows * 4;
  static constexpr uint64_t rowLoss = starts + rows * 4;
  static constexpr uint64_t theta = rowLoss + rows * 8;
  static constexpr uint64_t gradient = theta + elements * sizeof(T);
  static constexpr uint64_t state = gradient + elements * sizeof(T);
  static constexpr uint64_t stride = (elements * sizeof(T) + 63) / 64 * 64;
  static constexpr uint64_t slopes = state + Optimizer * stride;
  static constexpr uint64_t arenaBytes = slopes + rows * V * sizeof(T);

  template <typename U> static U *at(const hone_frame *frame, uint64_t offset) {
    return reinterpret_cast<U *>(frame->arena + offset);
  }
  static double &scalar(const hone_frame *frame, Scalar which) {
    return at<double>(frame, 0)[which];
  }

  /// Loss of one row and d(loss)/d(logits).
  static void rowTask(void *closure, int64_t row, int64_t thread) {
    auto *frame = static_cast<const hone_frame *>(closure);
    int64_t token = at<int32_t>(frame, ids)[row];
    int32_t target = at<int32_t>(frame, targets)[row];
    double &loss = at<double>(frame, rowLoss)[row];
    T *slope = at<T>(frame, slopes) + row * V;
    loss = 0;
    if (target < 0) {
      for (int64_t v = 0; v < V; ++v)
        slope[v] = 0;
      return;
    }
    auto *table = static_cast<const float *>(frame->weights[0]);
    const T *a = at<T>(frame, theta), *b = a + R * V;
    double *logits =
        reinterpret_cast<double *>(frame->thread_scratch + thread * scratch);
    double largest = -INFINITY;
    for (int64_t v = 0; v < V; ++v) {
      double delta = 0;
      for (int64_t k = 0; k < R; ++k)
        delta += double(b[v * R + k]) * double(a[k * V + token]);
      logits[v] = double(table[token * V + v]) + bigramScale * delta;
      largest = std::fmax(largest, logits[v]);
    }
    double sum = 0;
    for (int64_t v = 0; v < V; ++v)
      sum += std::exp(logits[v] - largest);
    loss = largest + std::log(sum) - logits[target];
    double scale = scalar(frame, LossScale) * bigramScale;
    for (int64_t v = 0; v < V; ++v)
      slope[v] =
          T((std::exp(logits[v] - largest) / sum - (v == target)) * scale);
  }

  static void gradientATask(void *closure, int64_t k, int64_t) {
    auto *frame = static_cast<const hone_frame *>(closure);
    const T *b = at<T>(frame, theta) + R * V;
    T *out = at<T>(frame, gradient) + k * V;
    for (int64_t row = 0; row < frame->rows; ++row) {
      const T *slope = at<T>(frame, slopes) + row * V;
      double sum = 0;
      for (int64_t v = 0; v < V; ++v)
        sum += double(slope[v]) * double(b[v * R + k]);
      out[at<int32_t>(frame, ids)[row]] += T(sum);
    }
  }

  static void gradientBTask(void *closure, int64_t v, int64_t) {
    auto *frame = static_cast<const hone_frame *>(closure);
    const T *a = at<T>(frame, theta);
    T *out = at<T>(frame, gradient) + R * V + v * R;
    for (int64_t row = 0; row < frame->rows; ++row) {
      double slope = at<T>(frame, slopes)[row * V + v];
      int64_t token = at<int32_t>(frame, ids)[row];
      for (int64_t k = 0; k < R; ++k)
        out[k] += T(slope * double(a[k * V + token]));
    }
  }

  static void updateTask(void *closure, int64_t i, int64_t) {
    auto *frame = static_cast<const hone_frame *>(closure);
    T &x = at<T>(frame, theta)[i];
    T *s = at<T>(frame, state);
    double rate = scalar(frame, Rate), decay = scalar(frame, WeightDecay);
    double g = double(at<T>(frame, gradient)[i]) * scalar(frame, GradientScale);
    if (Optimizer == HONE_SGD || Optimizer == HONE_SGD_MOMENTUM) {
      g += decay * double(x);
      if (Optimizer == HONE_SGD_MOMENTUM) {
        s[i] = T(scalar(frame, Momentum) * double(s[i]) + g);
        g = double(s[i]);
      }
      x = T(double(x) - rate * g);
      return;
    }
    double beta1 = scalar(frame, Beta1), beta2 = scalar(frame, Beta2);
    T &m = s[i], &v = at<T>(frame, state + stride)[i];
    m = T(beta1 * double(m) + (1 - beta1) * g);
    v = T(beta2 * double(v) + (1 - beta2) * g * g);
    double mean = double(m) / scalar(frame, Correction1);
    double root = std::sqrt(double(v) / scalar(frame, Correction2));
    x = T(double(x) * (1 - rate * decay) -
          rate * mean / (root + scalar(frame, Epsilon)));
  }

  static void loss(const hone_frame *frame) {
    void *closure = const_cast<hone_frame *>(frame);
    hone_parallel_for(frame->pool, rowTask, closure, frame->rows);
    double sum = 0;
    for (int64_t row = 0; row < frame->rows; ++row)
      sum += at<double>(frame, rowLoss)[row];
    scalar(frame, Loss) = sum;
  }

  static void gradientEntry(const hone_frame *frame) {
    loss(frame);
    void *closure = const_cast<hone_frame *>(frame);
    hone_parallel_for(frame->pool, gradientATask, closure, R);
    hone_parallel_for(frame->pool, gradientBTask, closure, V);
  }

  static void update(const hone_frame *frame) {
    hone_parallel_for(frame->pool, updateTask, const_cast<hone_frame *>(frame),
                      int64_t(elements));
  }

  static const hone_module module;
};

} // namespace

static constexpr int64_t rowShape[] = {rows}, tableShape[] = {V, V},
                         shapeA[] = {R, V}, shapeB[] = {V, R};

static const char config[] = R"({
  "model": {"name": "bigram", "model_type": "bigram", "parameters": 2209,
            "vocab_size": 47},
  "lora": {"r": 4, "lora_alpha": 8, "use_rslora": false,
           "target_modules": ["bigram"], "base_model_name_or_path": "bigram"},
  "train": {"method": "backprop", "residuals": "full", "optimizer": "adamw",
            "batch_size": 4, "max_seq_length": 32, "learning_rate": 0.02,
            "seed": 7, "momentum": 0.9},
  "weights": {"layout": "row-major", "source_hash": "bigram",
              "dtype": "float32"},
  "target": {"triple": "", "cpu": "generic", "features": []},
  "plan": {"classes": [{"name": "bigram", "bytes": 1000}]}
})";

template <typename T, uint32_t Optimizer>
const hone_module Bigram<T, Optimizer>::module = [] {
  static const hone_entry entries[] = {
      {"loss", loss}, {"gradient", gradientEntry}, {"update", update}};
  static const hone_slot inputs[] = {
      {"input_ids", HONE_I32, 1, rowShape, ids},
      {"targets", HONE_I32, 1, rowShape, targets},
      {"sequence_starts", HONE_I32, 1, rowShape, starts},
      {"loss_scale", HONE_F64, 0, nullptr, LossScale * 8},
      {"gradient_scale", HONE_F64, 0, nullptr, GradientScale * 8},
      {"learning_rate", HONE_F64, 0, nullptr, Rate * 8},
      {"weight_decay", HONE_F64, 0, nullptr, WeightDecay * 8},
      {"momentum", HONE_F64, 0, nullptr, Momentum * 8},
      {"beta1", HONE_F64, 0, nullptr, Beta1 * 8},
      {"beta2", HONE_F64, 0, nullptr, Beta2 * 8},
      {"epsilon", HONE_F64, 0, nullptr, Epsilon * 8},
      {"bias_correction1", HONE_F64, 0, nullptr, Correction1 * 8},
      {"bias_correction2", HONE_F64, 0, nullptr, Correction2 * 8}};
  static const hone_slot outputs[] = {{"loss", HONE_F64, 0, nullptr, Loss * 8}};
  static const hone_weight weights[] = {
      {"model.bigram.weight", HONE_F32, 2, tableShape}};
  static const hone_trainable trainables[] = {
      {"model.bigram.lora_A.weight", 2, HONE_INIT_KAIMING_UNIFORM, shapeA, 0},
      {"model.bigram.lora_B.weight", 2, HONE_INIT_ZERO, shapeB, R * V}};
  hone_module m = {};
  m.struct_size = sizeof(hone_module);
  m.abi_version = HONE_ABI_VERSION;
  m.config = config;
  m.max_rows = rows;
  m.arena_bytes = arenaBytes;
  m.thread_bytes = scratch;
  m.optimizer = Optimizer;
  m.trainable_dtype = sizeof(T) == 8 ? HONE_F64 : HONE_F32;
  m.trainable_elements = elements;
  m.theta_offset = theta;
  m.gradient_offset = gradient;
  m.state_offset = state;
  m.entries = entries;
  m.inputs = inputs;
  m.outputs = outputs;
  m.weights = weights;
  m.trainables = trainables;
  m.entry_count = 3;
  m.input_count = sizeof(inputs) / sizeof(inputs[0]);
  m.output_count = 1;
  m.weight_count = 1;
  m.trainable_count = 2;
  return m;
}();

const hone_module &bigramModule(uint32_t optimizer, uint32_t dtype) {
  bool wide = dtype == HONE_F64;
  switch (optimizer) {
  case HONE_SGD:
    return wide ? Bigram<double, HONE_SGD>::module
                : Bigram<float, HONE_SGD>::module;
  case HONE_SGD_MOMENTUM:
    return wide ? Bigram<double, HONE_SGD_MOMENTUM>::module
                : Bigram<float, HONE_SGD_MOMENTUM>::module;
  default:
    return wide ? Bigram<double, HONE_ADAMW>::module
                : Bigram<float, HONE_ADAMW>::module;
  }
}

Status writeBigramWeights(const std::string &path,
                          const std::string &sourceHash) {
  RandomStream stream(1, 0, RandomPurpose::Test, "bigram");
  std::vector<float> table(V * V);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = float(0.5 * stream.normal(i));
  Result<SafetensorsWriter> writer = SafetensorsWriter::create(
      path, {{"model.bigram.weight", Dtype::F32, {V, V}}},
      {{"format", "hone"},
       {"layout", "row-major"},
       {"source_hash", sourceHash}});
  if (!writer.isOk())
    return writer.status();
  Status status =
      writer.value().write(table.data(), table.size() * sizeof(float));
  return status.isOk() ? writer.value().commit() : status;
}

Status writeBigramData(const std::string &path, uint64_t samples,
                       uint64_t seed) {
  RandomStream stream(seed, 0, RandomPurpose::Test, "bigram data");
  std::string text;
  uint64_t at = 0;
  for (uint64_t i = 0; i < samples; ++i) {
    uint64_t length = 5 + stream.bits(at++) % 28;
    uint64_t token = stream.bits(at++) % V;
    text += "{\"input_ids\": [";
    for (uint64_t j = 0; j < length; ++j) {
      text += (j ? ", " : "") + std::to_string(token);
      token = (token * 5 + 1 + (stream.bits(at++) % 8 == 0)) % V;
    }
    text += "]}\n";
  }
  return writeFile(path, text);
}

} // namespace hone::test
