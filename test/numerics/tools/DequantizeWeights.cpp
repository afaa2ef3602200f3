//===- DequantizeWeights.cpp - The float model of stored weights ----------===//
//
// dequantize-weights WEIGHTS.hone.safetensors OUT.safetensors FORMAT
//
// float32, float64: every stored tensor as plain numbers, those of GPT-2's
// Conv1D [in, out]. mlx: the same packed integers under MLX's names and types,
// scales and biases as float32. DoRA's first lengths are no weight. Unpacks on
// its own: it shares no code with the unpacking that it checks.
//
//===----------------------------------------------------------------------===//

#include "formats/Safetensors.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

using namespace hone::rt;

[[noreturn]] static void fail(const std::string &message) {
  std::fprintf(stderr, "dequantize-weights: %s\n", message.c_str());
  std::exit(1);
}

static void require(const Status &status) {
  if (!status.isOk())
    fail(status.render());
}

static float floatAt(const SafetensorsFile &file, const TensorInfo &tensor,
                     uint64_t i) {
  float value;
  std::memcpy(&value, file.data(tensor) + 4 * i, 4);
  return value;
}

/// Weight i of `numbers`, in double and rounded once to `T`.
template <typename T>
static T weightAt(const SafetensorsFile &file, const TensorInfo &numbers,
                  const TensorInfo *scales, const TensorInfo *biases,
                  uint64_t i) {
  if (!scales)
    return static_cast<T>(loadAsDouble(numbers.dtype, file.data(numbers), i));
  // A tensor has as many numbers as the metadata's layout says.
  bool isInt4 = file.findMetadata("layout")->find("int4") != std::string::npos;
  uint64_t count = numbers.elements() * (isInt4 ? 2 : 1);
  uint64_t group = count / scales->elements();
  auto byte =
      static_cast<unsigned char>(file.data(numbers)[isInt4 ? i / 2 : i]);
  int q = !isInt4 ? byte : i % 2 ? byte / 16 : byte % 16;
  return std::fma(T(q), T(floatAt(file, *scales, i / group)),
                  T(floatAt(file, *biases, i / group)));
}

template <typename T>
static std::string
plainBytes(const SafetensorsFile &file, const TensorInfo &numbers,
           const TensorInfo *scales, const TensorInfo *biases, uint64_t count) {
  std::string bytes(count * sizeof(T), '\0');
  for (uint64_t i = 0; i < count; ++i) {
    T value = weightAt<T>(file, numbers, scales, biases, i);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

static std::string withoutSuffix(std::string name, const char *suffix) {
  size_t length = std::strlen(suffix);
  if (name.size() >= length &&
      name.compare(name.size() - length, length, suffix) == 0)
    name.resize(name.size() - length);
  return name;
}

/// Rows of `columns` elements, as columns.
template <typename T>
static std::string turned(const std::string &bytes, uint64_t columns) {
  uint64_t count = bytes.size() / sizeof(T), rows = count / columns;
  std::string result(bytes.size(), '\0');
  for (uint64_t i = 0; i < count; ++i)
    std::memcpy(result.data() + (i % columns * rows + i / columns) * sizeof(T),
                bytes.data() + i * sizeof(T), sizeof(T));
  return result;
}

/// GPT-Neo's matrices have GPT-2's names, but for c_attn.
static bool isConv1d(const SafetensorsFile &file, const std::string &name) {
  return file.find("transformer.h.0.attn.c_attn.weight") &&
         name.find(".c_") != std::string::npos &&
         withoutSuffix(name, ".weight") != name;
}

int main(int argc, char **argv) {
  if (argc != 4)
    fail("usage: dequantize-weights WEIGHTS OUT float32|float64|mlx");
  Result<SafetensorsFile> opened = SafetensorsFile::open(argv[1]);
  require(opened.status());
  const SafetensorsFile &file = opened.value();
  std::string format = argv[3];
  bool isInt4 = file.findMetadata("layout")->find("int4") != std::string::npos;

  std::vector<TensorSpec> specs;
  std::map<std::string, std::string> contents;
  auto add = [&](std::string name, Dtype dtype, std::vector<int64_t> shape,
                 std::string bytes) {
    contents[name] = std::move(bytes);
    specs.push_back({name, dtype, std::move(shape)});
  };
  auto raw = [&](const TensorInfo &tensor) {
    return std::string(file.data(tensor), tensor.bytes());
  };
  for (const TensorInfo &tensor : file.tensors()) {
    const std::string &name = tensor.name;
    bool isPart = withoutSuffix(name, ".scales") != name ||
                  withoutSuffix(name, ".biases") != name;
    bool isMagnitude = withoutSuffix(name, ".lora_magnitude_vector") != name;
    if (name == "hone.tokenizer" || name == "hone.chat" || isPart ||
        isMagnitude)
      continue;
    const TensorInfo *scales = file.find(name + ".scales");
    const TensorInfo *biases = file.find(name + ".biases");
    std::vector<int64_t> shape = tensor.shape;
    if (format == "mlx" && scales) {
      std::string module = withoutSuffix(name, ".weight");
      shape[1] /= 4;
      add(name, Dtype::U32, shape, raw(tensor));
      add(module + ".scales", Dtype::F32, scales->shape, raw(*scales));
      add(module + ".biases", Dtype::F32, biases->shape, raw(*biases));
      continue;
    }
    if (scales && isInt4)
      shape[1] *= 2;
    uint64_t count = tensor.elements() * (scales && isInt4 ? 2 : 1);
    bool isDouble = format == "float64";
    std::string bytes =
        isDouble ? plainBytes<double>(file, tensor, scales, biases, count)
                 : plainBytes<float>(file, tensor, scales, biases, count);
    if (isConv1d(file, name)) {
      bytes = isDouble ? turned<double>(bytes, shape[1])
                       : turned<float>(bytes, shape[1]);
      std::swap(shape[0], shape[1]);
    }
    add(name, isDouble ? Dtype::F64 : Dtype::F32, shape, std::move(bytes));
  }

  Result<SafetensorsWriter> writer =
      SafetensorsWriter::create(argv[2], specs, {{"format", "pt"}});
  require(writer.status());
  for (const TensorInfo &tensor : writer.value().tensors())
    require(writer.value().write(contents[tensor.name].data(),
                                 contents[tensor.name].size()));
  require(writer.value().commit());
}
