//===- GgufWriter.h - GGUF files ------------------------------------------===//
//
// Version 3, little endian:
//
//   "GGUF" | u32 3 | u64 tensors | u64 pairs | pairs | tensor infos | padding
//   pair: string key | u32 type | value       string: u64 bytes | UTF-8
//   info: string name | u32 rank | u64 dims, the fastest first | u32 type |
//         u64 offset from the first tensor, a multiple of 32
//
// ggml's docs/gguf.md is the source.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Dtype.h"
#include "base/OutputFile.h"

#include <functional>
#include <string>
#include <vector>

namespace hone {

class GgufWriter {
public:
  static constexpr uint64_t Alignment = 32;
  /// ggml's names have at most this many bytes, less the NUL.
  static constexpr uint64_t LongestName = 63;

  void add(const std::string &key, const std::string &value);
  void add(const std::string &key, uint32_t value);
  void add(const std::string &key, float value);

  /// A tensor of F32, F16 or BF16, whose shape is in C order; `bytes` is asked
  /// for its elements once, in the order of these calls.
  void addTensor(const std::string &name, const std::vector<int64_t> &shape,
                 rt::Dtype dtype,
                 std::function<Result<std::vector<char>>()> bytes);

  /// Writes the file whole or not at all. Errors: those of `bytes`; Internal
  /// for bytes of another size; CannotCreate, IoError.
  Status write(const std::string &path) const;

private:
  struct Tensor {
    uint64_t bytes;
    std::function<Result<std::vector<char>>()> make;
  };
  std::string pairs, infos;
  uint64_t pairCount = 0, dataBytes = 0;
  std::vector<Tensor> tensors;
};

} // namespace hone
