//===- Safetensors.h - Strict reader and streaming writer -----------------===//
//
// u64le N | N bytes of JSON | buffer. The reader takes the files of the
// reference reader, less some stricter rules: no duplicate keys, nesting at
// most 64, at most 1,000,000 tensors and as many metadata entries, rank at most
// 64, dimensions and offsets below 2^63 (runtime/README.md has the list). A
// tensor is NOT promised to be aligned: use convertElements or memcpy, never a
// cast.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Dtype.h"
#include "base/MappedFile.h"
#include "base/MemoryView.h"
#include "base/OutputFile.h"
#include "base/Status.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::rt {

/// The name and layout of a tensor (C order, little endian).
struct TensorSpec {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape; ///< rank 0 and dimensions of 0 are legal
};

/// A tensor in a file.
struct TensorInfo : TensorSpec {
  uint64_t begin = 0; ///< bytes from the start of the buffer
  uint64_t end = 0;
  uint64_t bytes() const { return end - begin; }
  /// The product of the shape; cannot overflow in a file that was accepted.
  uint64_t elements() const;
};

/// Bytes of a tensor; nullopt when the product of the
/// shape or the size in bits overflows 64 bits, a dimension is negative, or
/// the last element ends inside a byte.
std::optional<uint64_t> tensorBytes(Dtype dtype,
                                    const std::vector<int64_t> &shape);

/// Before much work is done for nothing: CannotCreate, with both sizes, unless
/// there is room for a new file `path` of `tensors`. Others may take it still.
Status checkRoom(const std::string &path,
                 const std::vector<TensorSpec> &tensors);

/// "[2, 3]"
std::string describeShape(const std::vector<int64_t> &shape);

/// The `__metadata__` entries, in the order of the file.
using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

/// The longest header to accept. A header that was read is resident, and no
/// plan counts it, so a reader that knows the tensors of a file refuses a
/// longer one unread.
class HeaderLimit {
public:
  /// The format's own.
  static constexpr uint64_t OfFormat = 100'000'000;
  /// For metadata, with any tensors.
  static constexpr uint64_t Least = 1 << 20;

  static HeaderLimit ofFormat() { return HeaderLimit(OfFormat); }
  /// Eight times a header of `needed` bytes, at least Least and at most the
  /// format's.
  static HeaderLimit ample(uint64_t needed) {
    return HeaderLimit(std::clamp(8 * needed, Least, OfFormat));
  }
  /// The ample limit for these tensors; `prefixBytes` are before each name.
  template <typename Tensors>
  static HeaderLimit of(const Tensors &tensors, uint64_t prefixBytes = 0) {
    uint64_t needed = 0;
    for (const auto &tensor : tensors)
      needed += prefixBytes + tensor.name.size() + BytesBesideName;
    return ample(needed);
  }

  uint64_t bytes() const { return most; }

private:
  /// A dtype, a shape, two offsets and their keys.
  static constexpr uint64_t BytesBesideName = 128;

  explicit HeaderLimit(uint64_t most) : most(most) {}
  uint64_t most;
};

/// Everything in a file except the tensors' bytes.
struct SafetensorsHeader {
  std::vector<TensorInfo> tensors; ///< in the order of the header
  std::vector<uint32_t> byName;    ///< indices into tensors, sorted
  SafetensorsMetadata metadata;
  uint64_t bufferOffset = 0; ///< bytes from the start of the file

  /// Checks the whole of `file`, which must hold at least the header, against
  /// the rules above; `fileSize` is the size of the file on disk. `place`
  /// names the file in messages. Of a header beyond `limit` no more than its
  /// length is read. Errors: BadData.
  static Result<SafetensorsHeader>
  parse(std::string_view file, uint64_t fileSize, const std::string &place,
        HeaderLimit limit = HeaderLimit::ofFormat());

  /// By binary search; null when there is none.
  const TensorInfo *find(std::string_view name) const;
  const std::string *findMetadata(std::string_view key) const;
};

/// A mapped file with an accepted header.
class SafetensorsFile {
public:
  /// Errors: as MappedFile::open and SafetensorsHeader::parse.
  static Result<SafetensorsFile>
  open(const std::string &path, HeaderLimit limit = HeaderLimit::ofFormat(),
       platform::File *kept = nullptr);

  const std::string &path() const { return file.path(); }
  const std::vector<TensorInfo> &tensors() const { return header.tensors; }
  const SafetensorsMetadata &metadata() const { return header.metadata; }

  const TensorInfo *find(std::string_view name) const {
    return header.find(name);
  }
  const std::string *findMetadata(std::string_view key) const {
    return header.findMetadata(key);
  }

  /// find(), or BadData naming the file and the tensor.
  Result<const TensorInfo *> require(std::string_view name) const;

  /// The tensor's first byte; may be misaligned for the type.
  const char *data(const TensorInfo &tensor) const {
    return file.data() + header.bufferOffset + tensor.begin;
  }

  /// The whole file, mapped.
  std::string_view bytes() const { return file.bytes(); }

  /// each(bytes, size) for the parts of `tensor`; see MappedFile::visit.
  template <typename Visit>
  void visit(const TensorInfo &tensor, Visit each) const {
    file.visit(header.bufferOffset + tensor.begin, tensor.bytes(), each);
  }

  /// Lets the kernel drop the pages of `tensor`, or of `size` bytes of it from
  /// the byte `first`; see MappedFile::release.
  void release(const TensorInfo &tensor) const {
    release(tensor, 0, tensor.bytes());
  }
  void release(const TensorInfo &tensor, uint64_t first, uint64_t size) const {
    file.release(header.bufferOffset + tensor.begin + first, size);
  }

private:
  MappedFile file;
  SafetensorsHeader header;
};

/// Writes a file whose tensors need never be in memory as a whole: declare
/// all, then stream the bytes in the order of tensors().
///
///   auto writer = SafetensorsWriter::create(path, specs, metadata);
///   for (const TensorInfo &t : writer.value().tensors())
///     ... writer.value().write(chunk, size) until t.bytes() ...
///   writer.value().commit();
class SafetensorsWriter {
public:
  /// The buffer starts at a multiple of this many bytes.
  static constexpr uint64_t BufferAlignment = 64;

  /// Orders the tensors by descending alignment of the type, then by name,
  /// and writes the header; metadata is sorted by key. With `digest`, the
  /// file's SHA-256 is taken on the way. Errors: Internal for tensors that the
  /// format cannot express (a name twice, reserved or not UTF-8, a size that
  /// overflows or ends inside a byte), else as OutputFile.
  static Result<SafetensorsWriter> create(const std::string &path,
                                          std::vector<TensorSpec> tensors,
                                          SafetensorsMetadata metadata,
                                          bool digest = false);

  /// In the order their bytes must be written; there is no gap between them.
  const std::vector<TensorInfo> &tensors() const { return infos; }

  /// The next bytes of the buffer, in chunks of any size. Errors: IoError;
  /// Internal beyond the declared size; as MemoryView::read.
  Status write(const void *bytes, uint64_t size);
  Status write(const MemoryView &bytes, uint64_t size);

  /// Errors: Internal when bytes are missing, else as OutputFile::commit.
  Status commit(FolderSync folder = FolderSync::Now);

  /// For its digest() and size(), after commit().
  const OutputFile &output() const { return file; }

private:
  OutputFile file;
  std::vector<TensorInfo> infos;
  uint64_t bufferBytes = 0;
  uint64_t written = 0;
};

} // namespace hone::rt
