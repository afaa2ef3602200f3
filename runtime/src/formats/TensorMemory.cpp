//===- TensorMemory.cpp - A tensor in memory, and in files ----------------===//

#include "formats/TensorMemory.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

std::vector<int64_t> TensorMemory::fileShape() const {
  return transposed ? std::vector<int64_t>(shape.rbegin(), shape.rend())
                    : shape;
}

uint64_t TensorMemory::bytes() const { return *tensorBytes(dtype, shape); }

namespace {
/// Rows of the file's matrix, which are columns of memory's: of both, the
/// elements touched at one time lie together.
class Strips {
public:
  explicit Strips(const TensorMemory &tensor)
      : tensor(tensor), outputs(uint64_t(tensor.shape[0])),
        inputs(uint64_t(tensor.shape[1])), width(dtypeBytes(tensor.dtype)),
        most(std::max<uint64_t>(1, Bytes / (outputs * width))) {
    buffer.resize(std::min(most, inputs) * outputs * width);
  }

  /// Calls each(first, size) for the strips: elements of the file.
  template <typename Each> Status forEach(Each each) {
    Status status = Status::ok();
    for (first = 0; first < inputs && status.isOk(); first += count) {
      count = std::min(most, inputs - first);
      status = each(first * outputs, count * outputs);
    }
    return status;
  }

  /// A strip, as the file has it.
  char *file() { return buffer.data(); }

  Status fromMemory() {
    for (uint64_t row = 0; row < outputs; ++row) {
      uint64_t column = 0;
      HONE_TRY(inMemory(row).read(count * width,
                                  [&](const char *part, uint64_t size) {
                                    for (; size; size -= width, part += width)
                                      memcpy(at(row, column++), part, width);
                                    return Status::ok();
                                  }));
    }
    return Status::ok();
  }

  void toMemory() {
    for (uint64_t row = 0; row < outputs; ++row) {
      uint64_t column = 0;
      inMemory(row).write(count * width, [&](char *part, uint64_t size) {
        for (; size; size -= width, part += width)
          memcpy(part, at(row, column++), width);
      });
    }
  }

private:
  static constexpr uint64_t Bytes = 64 * 1024;

  MemoryView inMemory(uint64_t row) const {
    return tensor.data + (row * inputs + first) * width;
  }
  char *at(uint64_t row, uint64_t column) {
    return buffer.data() + (column * outputs + row) * width;
  }

  const TensorMemory &tensor;
  const uint64_t outputs, inputs, width, most;
  uint64_t first = 0, count = 0;
  std::vector<char> buffer;
};
} // namespace

Status writeTensor(SafetensorsWriter &writer, const TensorMemory &tensor) {
  if (!tensor.transposed)
    return writer.write(tensor.data, tensor.bytes());
  Strips strips(tensor);
  return strips.forEach([&](uint64_t, uint64_t size) {
    Status status = strips.fromMemory();
    return status.isOk()
               ? writer.write(strips.file(), size * dtypeBytes(tensor.dtype))
               : status;
  });
}

/// Into memory that has the file's shape.
static void readInOrder(const SafetensorsFile &file, const TensorInfo &from,
                        Dtype dtype, MemoryView to) {
  const uint64_t read = dtypeBytes(from.dtype), width = dtypeBytes(dtype);
  file.visit(from, [&](const char *bytes, uint64_t size) {
    to.write(size / read * width, [&](char *part, uint64_t partBytes) {
      uint64_t count = partBytes / width;
      convertElements(from.dtype, bytes, dtype, part, count);
      bytes += count * read;
    });
    to = to + size / read * width;
  });
}

void readTensor(const SafetensorsFile &file, const TensorInfo &from,
                const TensorMemory &to) {
  if (!to.transposed)
    return readInOrder(file, from, to.dtype, to.data);
  const uint64_t read = dtypeBytes(from.dtype);
  Strips strips(to);
  (void)strips.forEach([&](uint64_t first, uint64_t size) {
    convertElements(from.dtype, file.data(from) + first * read, to.dtype,
                    strips.file(), size);
    strips.toMemory();
    file.release(from, 0, (first + size) * read);
    return Status::ok();
  });
}

} // namespace hone::rt
