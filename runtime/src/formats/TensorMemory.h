//===- TensorMemory.h - A tensor in memory, and in files ------------------===//
//
// Files of Conv1D modules hold a matrix as [in, out], memory as [out, in]: it
// is turned while it goes from one to the other, a few rows of the file at a
// time.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Dtype.h"
#include "base/MemoryView.h"
#include "base/Status.h"
#include "formats/Safetensors.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone::rt {

struct TensorMemory {
  std::string name;
  std::vector<int64_t> shape; ///< in memory
  Dtype dtype = Dtype::F32;
  MemoryView data;
  /// Whether files hold a matrix with its rows as columns.
  bool transposed = false;

  std::vector<int64_t> fileShape() const;
  uint64_t bytes() const;
};

/// Writes `tensor` as the next of the writer's, of its fileShape(). Errors: as
/// SafetensorsWriter::write.
Status writeTensor(SafetensorsWriter &writer, const TensorMemory &tensor);

/// Copies `from`, of a type that isConvertible and of the fileShape() of `to`,
/// to memory.
void readTensor(const SafetensorsFile &file, const TensorInfo &from,
                const TensorMemory &to);

} // namespace hone::rt
