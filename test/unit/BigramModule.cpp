//===- BigramModule.cpp - A compiled module written by hand ---------------===//
//
// Every loop is parallel over its results and sequential over its terms, so the
// bits do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "BigramModule.h"

#include "base/OutputFile.h"
#include "base/Philox.h"
#include "formats/Safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

using namespace hone::rt;

namespace hone::test {

static constexpr int64_t V = bigramVocab, R = bigramRank, rows = bigramMaxRows;
static constexpr uint64_t elements = 2 * R * V;
static constexpr int64_t scratch = (V * 8 + 63) / 64 * 64; // of a thread

namespace {

/// One scalar slot after another, then the arrays; all offsets are constants
/// as in generated code. The schedules' values have the same numbers.
enum Scalar : uint32_t {
  Batches,
  Targets,
  Completed,
  Steps,
  Scheduler,
  Warmup,
  PeakRate,
  WeightDecay,
  MaxNorm,
  Momentum,
  Beta1,
  Beta2,
  Epsilon,
  LossScale,
  Loss,
  Sum,
  Mean,
  Norm,
  Clip,
  Rate,
  ScalarCount,
  TheBatch = ScalarCount, ///< the value that is the batch
};

template <typename T, uint32_t Optimizer> struct Bigram {
  static constexpr uint64_t ids = 192;
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
  static int64_t integer(const hone_frame *frame, Scalar which) {
    return at<int64_t>(frame, 0)[which];
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
    double g = double(at<T>(frame, gradient)[i]) * scalar(frame, Clip);
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
    double number = double(integer(frame, Completed) + 1);
    double mean = double(m) / (1 - std::pow(beta1, number));
    double root = std::sqrt(double(v) / (1 - std::pow(beta2, number)));
    x = T(double(x) * (1 - rate * decay) -
          rate * mean / (root + scalar(frame, Epsilon)));
  }

  enum Kernel : uint32_t { Row, GradientA, GradientB, Update };

  /// The closure is the frame alone.
  static void launch(const hone_frame *frame, Kernel kernel, int64_t count) {
    hone_launch(frame, kernel, const_cast<hone_frame *>(frame), count);
  }

  static void loss(const hone_frame *frame, char *const *) {
    launch(frame, Row, frame->rows);
    double sum = 0;
    for (int64_t row = 0; row < frame->rows; ++row)
      sum += at<double>(frame, rowLoss)[row];
    scalar(frame, Loss) = sum;
  }

  static void gradientEntry(const hone_frame *frame, char *const *values) {
    loss(frame, values);
    launch(frame, GradientA, R);
    launch(frame, GradientB, V);
  }

  static void update(const hone_frame *frame, char *const *) {
    launch(frame, Update, int64_t(elements));
  }

  static void zeroGradient(const hone_frame *frame, char *const *) {
    memset(at<T>(frame, gradient), 0, elements * sizeof(T));
  }

  template <uint64_t vector>
  static void norm(const hone_frame *frame, char *const *) {
    double sum = 0;
    for (uint64_t i = 0; i < elements; ++i)
      sum += double(at<T>(frame, vector)[i]) * double(at<T>(frame, vector)[i]);
    scalar(frame, Norm) = std::sqrt(sum);
  }

  // Functions of scalars.

  static void lossScale(const hone_frame *frame, char *const *) {
    double targets = scalar(frame, Targets);
    scalar(frame, LossScale) = targets > 0 ? 1 / targets : 0;
    scalar(frame, Sum) = 0;
  }
  static void unitScale(const hone_frame *frame, char *const *) {
    scalar(frame, LossScale) = 1;
    scalar(frame, Sum) = 0;
  }
  static void addLoss(const hone_frame *frame, char *const *) {
    scalar(frame, Sum) += scalar(frame, Loss);
  }
  static void mean(const hone_frame *frame, char *const *) {
    scalar(frame, Mean) = scalar(frame, Sum) * scalar(frame, LossScale);
  }
  static void meanOfAll(const hone_frame *frame, char *const *) {
    scalar(frame, Mean) = scalar(frame, Sum) / scalar(frame, Targets);
  }
  static void rates(const hone_frame *frame, char *const *) {
    double most = scalar(frame, MaxNorm);
    scalar(frame, Clip) =
        most > 0 ? std::fmin(1.0, most / (scalar(frame, Norm) + 1e-6)) : 1.0;
    int64_t done = integer(frame, Completed), warm = integer(frame, Warmup),
            decay = std::max<int64_t>(1, integer(frame, Steps) - warm);
    double factor = 1;
    if (done < warm)
      factor = double(done) / double(warm);
    else if (integer(frame, Scheduler) == HONE_LR_LINEAR)
      factor = double(std::max<int64_t>(0, integer(frame, Steps) - done)) /
               double(decay);
    else if (integer(frame, Scheduler) == HONE_LR_COSINE)
      factor = 0.5 * (1 + std::cos(3.14159265358979323846 *
                                   double(done - warm) / double(decay)));
    scalar(frame, Rate) = scalar(frame, PeakRate) * factor;
  }

  static const hone_module module;
};

} // namespace

static constexpr int64_t rowShape[] = {rows}, tableShape[] = {V, V},
                         shapeA[] = {R, V}, shapeB[] = {V, R};

static const char config[] = R"({
  "model": {"name": "bigram", "model_type": "bigram", "parameters": 2585,
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

static const hone_number settings[] = {
    {"batches", HONE_I64, Batches},
    {"targets", HONE_F64, Targets},
    {"completed", HONE_I64, Completed},
    {"steps", HONE_I64, Steps},
    {"lr_scheduler_type", HONE_I64, Scheduler},
    {"warmup_steps", HONE_I64, Warmup},
    {"learning_rate", HONE_F64, PeakRate},
    {"weight_decay", HONE_F64, WeightDecay},
    {"max_grad_norm", HONE_F64, MaxNorm},
    {"momentum", HONE_F64, Momentum},
    {"adam_beta1", HONE_F64, Beta1},
    {"adam_beta2", HONE_F64, Beta2},
    {"adam_epsilon", HONE_F64, Epsilon}};
static const hone_number reports[] = {{"loss", HONE_F64, Mean},
                                      {"gradient_norm", HONE_F64, Norm},
                                      {"learning_rate", HONE_F64, Rate}};
static const uint32_t batchCount[] = {Batches}, checked[] = {Mean, Norm};

static hone_item call(hone_entry_fn run, uint32_t batch = HONE_NO_VALUE) {
  hone_item item = {};
  item.kind = HONE_RUN;
  item.run = run;
  item.condition = HONE_NO_VALUE;
  item.batch = batch;
  return item;
}

static hone_item load() {
  hone_item item = call(nullptr, TheBatch);
  item.kind = HONE_LOAD;
  return item;
}

/// Repeats the `body` items after it for each batch.
static hone_item forEachBatch(uint32_t body) {
  hone_item item = call(nullptr);
  item.kind = HONE_REPEAT;
  item.values = batchCount;
  item.value_count = 1;
  item.body = body;
  item.stages = 1;
  return item;
}

/// Checks the last `count` of mean and norm.
static hone_item checkFinite(uint32_t count) {
  hone_item item = call(nullptr);
  item.kind = HONE_CHECK;
  item.values = checked + 2 - count;
  item.value_count = count;
  return item;
}

template <uint32_t Count>
static hone_schedule schedule(hone_purpose purpose,
                              const hone_item (&items)[Count]) {
  static const std::vector<hone_value> values = [] {
    std::vector<hone_value> all;
    for (uint64_t i = 0; i < ScalarCount; ++i)
      all.push_back({i * 8, 8, 8, 0, 1, 0, 0});
    all.push_back({0, 0, 0, 0, 1, /*depth=*/1, 0});
    return all;
  }();
  hone_schedule s = {};
  s.purpose = purpose;
  s.items = items;
  s.item_count = Count;
  s.values = values.data();
  s.value_count = uint32_t(values.size());
  s.settings = settings;
  s.setting_count = sizeof(settings) / sizeof(settings[0]);
  s.reports = reports;
  s.report_count = 3;
  s.batch_slots = 1;
  return s;
}

template <typename T, uint32_t Optimizer>
const hone_module Bigram<T, Optimizer>::module = [] {
  static const hone_item train[] = {call(lossScale),
                                    call(zeroGradient),
                                    forEachBatch(3),
                                    load(),
                                    call(gradientEntry, TheBatch),
                                    call(addLoss),
                                    call(mean),
                                    call(norm<gradient>),
                                    checkFinite(2),
                                    call(rates),
                                    call(update)};
  static const hone_item evaluate[] = {call(unitScale), forEachBatch(3),
                                       load(),          call(loss, TheBatch),
                                       call(addLoss),   call(meanOfAll)};
  static const hone_item differentiate[] = {call(lossScale),
                                            call(zeroGradient),
                                            forEachBatch(3),
                                            load(),
                                            call(gradientEntry, TheBatch),
                                            call(addLoss),
                                            call(mean),
                                            call(norm<gradient>)};
  static const hone_item validate[] = {call(norm<theta>), checkFinite(1)};
  static const hone_schedule schedules[] = {
      schedule(HONE_TRAIN, train), schedule(HONE_EVALUATE, evaluate),
      schedule(HONE_DIFFERENTIATE, differentiate),
      schedule(HONE_VALIDATE, validate)};
  static const hone_slot inputs[] = {
      {"input_ids", HONE_I32, 1, rowShape, ids},
      {"targets", HONE_I32, 1, rowShape, targets},
      {"sequence_starts", HONE_I32, 1, rowShape, starts}};
  static const hone_weight weights[] = {
      {"model.bigram.weight", HONE_F32, 2, tableShape}};
  static const hone_trainable trainables[] = {
      {"model.bigram.lora_A.weight", 2, HONE_INIT_KAIMING_UNIFORM, shapeA, 0, 0,
       HONE_NO_LAYER},
      {"model.bigram.lora_B.weight", 2, HONE_INIT_ZERO, shapeB, R * V, 0,
       HONE_NO_LAYER}};
  static const hone_kernel kernels[] = {
      {rowTask, nullptr, "gradient", "loss", 0, 0, nullptr, 0},
      {gradientATask, nullptr, "gradient", "lora_A", 0, 0, nullptr, 0},
      {gradientBTask, nullptr, "gradient", "lora_B", 0, 0, nullptr, 0},
      {updateTask, nullptr, "update", "theta", 0, 0, nullptr, 0}};
  hone_module m = {};
  m.struct_size = sizeof(hone_module);
  m.abi_version = HONE_ABI_VERSION;
  m.program_digest = "bigram";
  m.config = config;
  m.max_rows = rows;
  m.arena_bytes = m.accumulation_end = m.gradient_end = arenaBytes;
  m.thread_bytes = scratch;
  m.trainable_dtype = sizeof(T) == 8 ? HONE_F64 : HONE_F32;
  static const int64_t stateShape[] = {elements};
  static const hone_slot states[] = {
      {"state0", m.trainable_dtype, 1, stateShape, state},
      {"state1", m.trainable_dtype, 1, stateShape, state + stride}};
  m.states = states;
  m.state_count = Optimizer;
  m.trainable_elements = elements;
  m.theta_offset = theta;
  m.gradient_offset = gradient;
  m.schedules = schedules;
  m.inputs = inputs;
  m.weights = weights;
  m.trainables = trainables;
  m.kernels = kernels;
  m.kernel_count = 4;
  m.schedule_count = sizeof(schedules) / sizeof(schedules[0]);
  m.input_count = sizeof(inputs) / sizeof(inputs[0]);
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
