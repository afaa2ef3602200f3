//===- GgufWriter.cpp - GGUF files ----------------------------------------===//

#include "compiler/hone-adapter/GgufWriter.h"
#include "formats/Safetensors.h"

#include <cstring>

using namespace hone;

namespace {
/// Of values, as gguf.md numbers them.
enum ValueType : uint32_t { Uint32 = 4, Float32 = 6, String = 8 };
} // namespace

static uint32_t tensorType(rt::Dtype dtype) {
  return dtype == rt::Dtype::F32 ? 0 : dtype == rt::Dtype::F16 ? 1 : 30;
}

template <typename T> static void append(std::string &out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value); // this machine is little endian
  out.append(bytes, sizeof value);
}

static void append(std::string &out, const std::string &text) {
  append(out, uint64_t(text.size()));
  out += text;
}

static uint64_t padded(uint64_t bytes) {
  return (bytes + GgufWriter::Alignment - 1) / GgufWriter::Alignment *
         GgufWriter::Alignment;
}

void GgufWriter::add(const std::string &key, const std::string &value) {
  append(pairs, key);
  append(pairs, uint32_t(String));
  append(pairs, value);
  ++pairCount;
}

void GgufWriter::add(const std::string &key, uint32_t value) {
  append(pairs, key);
  append(pairs, uint32_t(Uint32));
  append(pairs, value);
  ++pairCount;
}

void GgufWriter::add(const std::string &key, float value) {
  append(pairs, key);
  append(pairs, uint32_t(Float32));
  append(pairs, value);
  ++pairCount;
}

void GgufWriter::addTensor(const std::string &name,
                           const std::vector<int64_t> &shape, rt::Dtype dtype,
                           std::function<Result<std::vector<char>>()> bytes) {
  append(infos, name);
  append(infos, uint32_t(shape.size()));
  for (size_t i = shape.size(); i-- > 0;)
    append(infos, uint64_t(shape[i]));
  append(infos, tensorType(dtype));
  append(infos, dataBytes);
  uint64_t size = *rt::tensorBytes(dtype, shape);
  tensors.push_back({size, std::move(bytes)});
  dataBytes += padded(size);
}

Status GgufWriter::write(const std::string &path) const {
  HONE_ASSIGN(rt::OutputFile file, rt::OutputFile::create(path));
  std::string head = "GGUF";
  append(head, uint32_t(3));
  append(head, uint64_t(tensors.size()));
  append(head, pairCount);
  head += pairs + infos;
  head.resize(padded(head.size()));
  Status status = file.write(head);
  for (const Tensor &tensor : tensors) {
    HONE_TRY(status);
    HONE_ASSIGN(std::vector<char> bytes, tensor.make());
    if (bytes.size() != tensor.bytes)
      return Status(ErrorCode::Bug, path,
                    "a tensor has another size than its header",
                    "please report this");
    bytes.resize(padded(tensor.bytes));
    status = file.write(bytes.data(), bytes.size());
  }
  return status.isOk() ? file.commit() : status;
}
