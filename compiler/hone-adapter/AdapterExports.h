//===- AdapterExports.h - Adapters for llama.cpp and MLX ------------------===//

#pragma once

#include "base/Dtype.h"
#include "base/Status.h"

#include <string>

namespace hone {

struct ExportRequest {
  /// Folders; of the model config.json alone is read.
  std::string model, adapter;
  std::string output; ///< a file for llama.cpp, a folder for MLX
  rt::Dtype dtype = rt::Dtype::F32;
};

/// A summary of the written file, for a person.
struct ExportSummary {
  uint64_t modules = 0;
  int64_t rank = 0;
  double scale = 0; ///< of B A, as the other program will compute it
  std::string note; ///< the facts that could not be checked, or ""

  /// Says so of `output`; the note goes to the standard error stream.
  void print(const std::string &output) const;
};

/// Writes a GGUF file as `llama-cli --lora` reads it. Errors: BadData for a
/// model or an adapter that llama.cpp has no form for.
Result<ExportSummary> exportGguf(const ExportRequest &request);

/// Writes adapters.safetensors and adapter_config.json as mlx-lm's
/// load_adapters() reads them; F32, F16 or BF16. Errors: the same.
Result<ExportSummary> exportMlx(const ExportRequest &request);

} // namespace hone
