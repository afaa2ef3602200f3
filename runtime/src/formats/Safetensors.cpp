//===- Safetensors.cpp - Strict reader and streaming writer ---------------===//
//
// The header is read without a tree: 100 MB of it must not become gigabytes.
// Every size is checked before it is multiplied or added.
//
//===----------------------------------------------------------------------===//

#include "formats/Safetensors.h"
#include "base/ByteCount.h"
#include "base/JsonReader.h"
#include "base/Utf8.h"
#include "platform/Files.h"

#include <algorithm>

namespace hone::rt {

static constexpr uint64_t MaxEntries = 1'000'000;
/// A header has more for each tensor; an entry takes twice as much of memory.
static constexpr uint64_t LeastEntryBytes = 100;
static constexpr uint64_t MaxRank = 64;
static constexpr const char *MetadataKey = "__metadata__";
static constexpr const char *RewriteRemedy =
    "the file is damaged or was written wrongly: get it again or write it "
    "with the safetensors library";

uint64_t TensorInfo::elements() const {
  uint64_t count = 1;
  for (int64_t dimension : shape)
    count *= static_cast<uint64_t>(dimension);
  return count;
}

std::optional<uint64_t> tensorBytes(Dtype dtype,
                                    const std::vector<int64_t> &shape) {
  // In the order of the shape, like the reference: [2^63, 2, 0] overflows.
  uint64_t count = 1;
  for (int64_t dimension : shape)
    if (dimension < 0 ||
        __builtin_mul_overflow(count, static_cast<uint64_t>(dimension), &count))
      return std::nullopt;
  uint64_t bits;
  if (__builtin_mul_overflow(count, uint64_t(dtypeBits(dtype)), &bits) ||
      bits % 8 != 0)
    return std::nullopt;
  return bits / 8;
}

std::string describeShape(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// A name from a file, safe to print: quoted, escaped, at most 200 bytes.
static std::string quote(std::string_view name) {
  static constexpr size_t Shown = 200;
  const std::string_view prefix = utf8Prefix(name, Shown);
  return jsonString(prefix) + (prefix.size() < name.size() ? "..." : "");
}

static Status badFile(const std::string &place, const std::string &problem,
                      const char *remedy = RewriteRemedy) {
  return Status(ErrorCode::BadSafetensors, place, problem, remedy);
}

static Status badTensor(const std::string &place, std::string_view name,
                        const std::string &problem) {
  return badFile(place + ": tensor " + quote(name), problem);
}

//===----------------------------------------------------------------------===//
// Header
//===----------------------------------------------------------------------===//

/// Tensors, or entries of metadata, in a header that is not too long.
static uint64_t mostEntries(HeaderLimit limit) {
  return limit.bytes() == HeaderLimit::OfFormat
             ? MaxEntries
             : limit.bytes() / LeastEntryBytes;
}

namespace {
/// Reads one header; the reader keeps the first error.
class HeaderParser {
public:
  HeaderParser(std::string_view json, const std::string &place,
               SafetensorsHeader &header, uint64_t most)
      : reader(json, place, ErrorCode::BadSafetensors,
               JsonReader::Position::ByteOffset, 8),
        header(header), most(most) {}

  Status run(size_t tensors);

private:
  bool metadata();
  bool tensor(TensorInfo &info);
  bool dtype(TensorInfo &info);
  bool shape(TensorInfo &info);
  bool offsets(TensorInfo &info);

  JsonReader reader;
  SafetensorsHeader &header;
  const uint64_t most; ///< entries
};
} // namespace

/// How many tensors `json` has, if none spells its keys with escapes. A table
/// that grows as it is filled would take three times its memory.
static size_t countTensors(std::string_view json) {
  constexpr std::string_view each = "\"data_offsets\"";
  size_t count = 0;
  for (size_t at = 0; (at = json.find(each, at)) != json.npos; ++count)
    at += each.size();
  return std::min<size_t>(count, MaxEntries);
}

Status HeaderParser::run(size_t tensors) {
  bool seenMetadata = false;
  std::string key;
  header.tensors.reserve(tensors);
  reader.beginObject();
  while (reader.nextMember(key)) {
    uint64_t keyOffset = reader.lastToken();
    if (key == MetadataKey) {
      if (seenMetadata)
        reader.failAt(keyOffset,
                      "expected \"__metadata__\" once, found it "
                      "again",
                      RewriteRemedy);
      seenMetadata = true;
      metadata();
      continue;
    }
    if (header.tensors.size() == most)
      reader.failAt(keyOffset,
                    "expected at most " + std::to_string(most) +
                        " tensors, found more",
                    "leave out tensors that are not needed, or split the file");
    TensorInfo info;
    info.name = key; // with no more memory than it needs
    if (tensor(info))
      header.tensors.push_back(std::move(info));
  }
  reader.finish();
  return reader.status();
}

bool HeaderParser::metadata() {
  Json::Kind kind;
  if (!reader.peek(kind))
    return false;
  if (kind == Json::Kind::Null) // which the reference reader takes as none
    return reader.skip();
  std::string key, value;
  reader.beginObject();
  while (reader.nextMember(key)) {
    if (header.metadata.size() == most)
      return reader.failAt(reader.lastToken(),
                           "expected at most " + std::to_string(most) +
                               " metadata entries, found more",
                           RewriteRemedy);
    if (reader.string(value))
      header.metadata.emplace_back(std::move(key), std::move(value));
  }
  return reader.ok();
}

bool HeaderParser::dtype(TensorInfo &info) {
  std::string name;
  if (!reader.string(name))
    return false;
  std::optional<Dtype> parsed = parseDtype(name);
  if (!parsed)
    return reader.failAt(reader.lastToken(),
                         "expected a dtype such as \"F32\" or \"BF16\" for "
                         "tensor " +
                             quote(info.name) + ", found " + quote(name),
                         "convert the tensor to a dtype of the safetensors "
                         "format");
  info.dtype = *parsed;
  return true;
}

bool HeaderParser::shape(TensorInfo &info) {
  info.shape.clear();
  reader.beginArray();
  while (reader.nextElement()) {
    int64_t dimension;
    if (!reader.unsignedInteger(dimension))
      return false;
    if (info.shape.size() == MaxRank)
      return reader.failAt(reader.lastToken(),
                           "expected at most 64 dimensions for tensor " +
                               quote(info.name) + ", found more",
                           "reshape the tensor");
    info.shape.push_back(dimension);
  }
  return reader.ok();
}

bool HeaderParser::offsets(TensorInfo &info) {
  int64_t ends[2] = {0, 0};
  int count = 0;
  reader.beginArray();
  while (reader.nextElement()) {
    if (count == 2)
      return reader.failAt(reader.lastToken(),
                           "expected two data_offsets for tensor " +
                               quote(info.name) + ", found more",
                           RewriteRemedy);
    reader.unsignedInteger(ends[count++]);
  }
  if (reader.ok() && count != 2)
    return reader.failAt(reader.lastToken(),
                         "expected two data_offsets for tensor " +
                             quote(info.name) + ", found " +
                             std::to_string(count),
                         RewriteRemedy);
  info.begin = static_cast<uint64_t>(ends[0]);
  info.end = static_cast<uint64_t>(ends[1]);
  return reader.ok();
}

bool HeaderParser::tensor(TensorInfo &info) {
  using Field = bool (HeaderParser::*)(TensorInfo &);
  static constexpr const char *names[] = {"dtype", "shape", "data_offsets"};
  static constexpr Field fields[] = {&HeaderParser::dtype, &HeaderParser::shape,
                                     &HeaderParser::offsets};
  bool seen[3] = {};
  // The reference reader passes over other keys; so do we, but not twice.
  std::vector<std::string> others;
  std::string key;
  reader.beginObject();
  uint64_t start = reader.lastToken();
  while (reader.nextMember(key)) {
    uint64_t keyOffset = reader.lastToken();
    int which = -1;
    for (int i = 0; i < 3; ++i)
      if (key == names[i])
        which = i;
    bool again = which >= 0 ? std::exchange(seen[which], true)
                            : std::find(others.begin(), others.end(), key) !=
                                  others.end();
    if (again)
      return reader.failAt(keyOffset,
                           "expected each key once in tensor " +
                               quote(info.name) + ", found " + quote(key) +
                               " again",
                           RewriteRemedy);
    if (which >= 0) {
      (this->*fields[which])(info);
      continue;
    }
    if (others.size() == 16)
      return reader.failAt(keyOffset,
                           "expected dtype, shape and data_offsets in tensor " +
                               quote(info.name) +
                               ", found more than 16 other keys",
                           RewriteRemedy);
    others.push_back(key);
    reader.skip();
  }
  for (int i = 0; i < 3 && reader.ok(); ++i)
    if (!seen[i])
      reader.failAt(start,
                    std::string("expected \"") + names[i] + "\" in tensor " +
                        quote(info.name) + ", found none",
                    RewriteRemedy);
  return reader.ok();
}

/// Sorts byName; an error when a name is there twice.
static Status indexNames(SafetensorsHeader &header, const std::string &place) {
  const std::vector<TensorInfo> &tensors = header.tensors;
  header.byName.resize(tensors.size());
  for (uint32_t i = 0; i < header.byName.size(); ++i)
    header.byName[i] = i;
  std::sort(header.byName.begin(), header.byName.end(),
            [&](uint32_t a, uint32_t b) {
              return tensors[a].name < tensors[b].name;
            });
  auto same = std::adjacent_find(header.byName.begin(), header.byName.end(),
                                 [&](uint32_t a, uint32_t b) {
                                   return tensors[a].name == tensors[b].name;
                                 });
  if (same != header.byName.end())
    return badTensor(place, tensors[*same].name,
                     "expected each name once in the header, found it again");
  // Few enough and rarely read: a sorted copy is all it takes.
  SafetensorsMetadata sorted = header.metadata;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i - 1].first == sorted[i].first)
      return badFile(place + ": __metadata__",
                     "expected each key once, found " + quote(sorted[i].first) +
                         " again");
  return Status::ok();
}

/// The tensors must tile the buffer: no hole, no overlap, nothing after.
static Status checkTiling(const SafetensorsHeader &header, uint64_t bufferBytes,
                          const std::string &place) {
  std::vector<uint32_t> order(header.tensors.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  auto at = [&](uint32_t i) -> const TensorInfo & { return header.tensors[i]; };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(at(a).begin, at(a).end) <
           std::pair(at(b).begin, at(b).end);
  });
  uint64_t reached = 0;
  for (uint32_t i : order) {
    const TensorInfo &t = at(i);
    if (t.begin != reached)
      return badTensor(place, t.name,
                       "expected data_offsets to begin at " +
                           std::to_string(reached) +
                           ", where the tensor before ends, found " +
                           std::to_string(t.begin) +
                           (t.begin > reached ? " (a hole)" : " (an overlap)"));
    if (t.end < t.begin)
      return badTensor(place, t.name,
                       "expected data_offsets to end at or after " +
                           std::to_string(t.begin) + ", found " +
                           std::to_string(t.end));
    std::optional<uint64_t> bytes = tensorBytes(t.dtype, t.shape);
    std::string layout =
        std::string(dtypeName(t.dtype)) + " " + describeShape(t.shape);
    if (!bytes)
      return badTensor(place, t.name,
                       "expected a size that is a whole number of bytes below "
                       "2^61, found " +
                           layout);
    if (t.bytes() != *bytes)
      return badTensor(place, t.name,
                       "expected " + std::to_string(*bytes) + " bytes for " +
                           layout + ", found data_offsets that span " +
                           std::to_string(t.bytes()));
    reached = t.end;
  }
  if (reached != bufferBytes)
    return badFile(place, "expected " + std::to_string(reached) +
                              " bytes of tensors after the header, found " +
                              std::to_string(bufferBytes) +
                              (reached > bufferBytes ? " (cut short)"
                                                     : " (bytes left over)"));
  return Status::ok();
}

Result<SafetensorsHeader> SafetensorsHeader::parse(std::string_view file,
                                                   uint64_t fileSize,
                                                   const std::string &place,
                                                   HeaderLimit limit) {
  if (fileSize < 8 || file.size() < 8)
    return badFile(place, "expected a safetensors file of at least 8 bytes, "
                          "found " +
                              std::to_string(fileSize));
  uint64_t headerBytes = 0;
  for (int i = 7; i >= 0; --i)
    headerBytes = headerBytes << 8 | static_cast<uint8_t>(file[i]);
  if (headerBytes > limit.bytes()) {
    const bool isOfFormat = limit.bytes() == HeaderLimit::OfFormat;
    return badFile(
        place + ": byte 0",
        "expected a header of at most " + std::to_string(limit.bytes()) +
            " bytes" +
            (isOfFormat ? "" : ", which is more than its tensors need") +
            ", found " + std::to_string(headerBytes),
        isOfFormat ? RewriteRemedy
                   : "write the file again without its metadata, with the "
                     "safetensors library, or get it again");
  }
  if (headerBytes > std::min<uint64_t>(fileSize, file.size()) - 8)
    return badFile(place + ": byte 0",
                   "expected a header that fits in the " +
                       std::to_string(fileSize - 8) +
                       " bytes that follow, found a size of " +
                       std::to_string(headerBytes));
  std::string_view json = file.substr(8, headerBytes);
  // White space, which JSON allows here, would let one file be two formats.
  if (json.empty() || json[0] != '{')
    return badFile(
        place + ": byte 8",
        "expected '{' as the first byte of the header, found " +
            (json.empty() ? std::string("an empty header")
                          : "byte value " +
                                std::to_string(static_cast<uint8_t>(json[0]))));
  SafetensorsHeader header;
  header.bufferOffset = 8 + headerBytes;
  HONE_TRY(HeaderParser(json, place, header, mostEntries(limit))
               .run(countTensors(json)));
  HONE_TRY(indexNames(header, place));
  HONE_TRY(checkTiling(header, fileSize - header.bufferOffset, place));
  return header;
}

const TensorInfo *SafetensorsHeader::find(std::string_view name) const {
  auto found = std::lower_bound(byName.begin(), byName.end(), name,
                                [&](uint32_t i, std::string_view wanted) {
                                  return tensors[i].name < wanted;
                                });
  if (found == byName.end() || tensors[*found].name != name)
    return nullptr;
  return &tensors[*found];
}

const std::string *SafetensorsHeader::findMetadata(std::string_view key) const {
  for (const auto &[name, value] : metadata)
    if (name == key)
      return &value;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// File
//===----------------------------------------------------------------------===//

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path,
                                              HeaderLimit limit,
                                              platform::File *kept) {
  HONE_ASSIGN(MappedFile mapped, MappedFile::open(path, kept));
  const MappedFile &bytes = mapped;
  HONE_ASSIGN(
      SafetensorsHeader header,
      SafetensorsHeader::parse(bytes.bytes(), bytes.size(), path, limit));
  SafetensorsFile file;
  file.file = std::move(mapped);
  file.header = std::move(header);
  return file;
}

Result<const TensorInfo *>
SafetensorsFile::require(std::string_view name) const {
  if (const TensorInfo *tensor = find(name))
    return tensor;
  return Status(ErrorCode::MissingTensor, path(),
                "expected a tensor named " + quote(name) +
                    ", found none among " + std::to_string(tensors().size()),
                "check that the file belongs to this model");
}

//===----------------------------------------------------------------------===//
// Writer
//===----------------------------------------------------------------------===//

static Status cannotExpress(const std::string &path,
                            const std::string &problem) {
  return Status(ErrorCode::Bug, path, problem, "report this bug");
}

/// A tensor as the header has it, and a comma.
static std::string memberText(const TensorInfo &t) {
  std::string text = jsonString(t.name);
  return text + ":{\"dtype\":\"" + dtypeName(t.dtype) +
         "\",\"shape\":" + describeShape(t.shape) + ",\"data_offsets\":[" +
         std::to_string(t.begin) + "," + std::to_string(t.end) + "]},";
}

/// The header with its size in front, in no more memory than it needs.
static std::string headerText(const std::vector<TensorInfo> &tensors,
                              const SafetensorsMetadata &metadata) {
  std::string text(8, '\0');
  text += '{';
  if (!metadata.empty()) {
    text += jsonString(MetadataKey) + ":{";
    for (const auto &[key, value] : metadata) {
      if (text.back() != '{')
        text += ',';
      text += jsonString(key) + ':' + jsonString(value);
    }
    text += "},";
  }
  size_t size = text.size() + SafetensorsWriter::BufferAlignment;
  for (const TensorInfo &t : tensors)
    size += memberText(t).size();
  text.reserve(size);
  for (const TensorInfo &t : tensors)
    text += memberText(t);
  if (text.back() == ',')
    text.pop_back();
  text += '}';
  while (text.size() % SafetensorsWriter::BufferAlignment != 0)
    text += ' ';
  for (size_t i = 0; i < 8; ++i)
    text[i] = static_cast<char>(uint64_t(text.size() - 8) >> (8 * i));
  return text;
}

Status checkRoom(const std::string &path,
                 const std::vector<TensorSpec> &tensors) {
  uint64_t needed = 0, found = 0;
  for (const TensorSpec &tensor : tensors)
    if (__builtin_add_overflow(
            needed,
            tensorBytes(tensor.dtype, tensor.shape).value_or(UINT64_MAX),
            &needed))
      needed = UINT64_MAX;
  // If the system does not say how much is free, writing will show it.
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (platform::freeBytes(folder, found) || found >= needed)
    return Status::ok();
  return Status(ErrorCode::CannotCreate, path,
                "expected room for " + describeBytes(needed) + " but found " +
                    describeBytes(found),
                "free the rest, or write to another disk; nothing was written");
}

Result<SafetensorsWriter>
SafetensorsWriter::create(const std::string &path,
                          std::vector<TensorSpec> tensors,
                          SafetensorsMetadata metadata, bool digest) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorSpec &a, const TensorSpec &b) {
              return a.dtype != b.dtype ? a.dtype > b.dtype : a.name < b.name;
            });
  std::sort(metadata.begin(), metadata.end());
  SafetensorsWriter writer;
  writer.infos.reserve(tensors.size());
  for (TensorSpec &spec : tensors) {
    TensorInfo info;
    static_cast<TensorSpec &>(info) = std::move(spec);
    std::optional<uint64_t> bytes = tensorBytes(info.dtype, info.shape);
    info.begin = writer.bufferBytes;
    if (!bytes || __builtin_add_overflow(writer.bufferBytes, *bytes, &info.end))
      return cannotExpress(path, "tensor " + quote(info.name) +
                                     " has a size that cannot be written: " +
                                     describeShape(info.shape));
    writer.bufferBytes = info.end;
    writer.infos.push_back(std::move(info));
  }
  tensors = {};
  const std::string text = headerText(writer.infos, metadata);

  // Our reader must accept the header.
  Result<SafetensorsHeader> check =
      SafetensorsHeader::parse(text, text.size() + writer.bufferBytes, path);
  if (!check.isOk())
    return cannotExpress(check.status().message().place,
                         check.status().message().problem);
  for (size_t i = 0; i < writer.infos.size(); ++i)
    if (check.value().tensors[i].name != writer.infos[i].name)
      return cannotExpress(path, "tensor " + quote(writer.infos[i].name) +
                                     " has a name that is not UTF-8");

  HONE_ASSIGN(writer.file, OutputFile::create(path));
  if (digest)
    writer.file.enableDigest();
  HONE_TRY(writer.file.write(text));
  return writer;
}

Status SafetensorsWriter::write(const void *bytes, uint64_t size) {
  if (size > bufferBytes - written)
    return cannotExpress(file.path(), "expected at most " +
                                          std::to_string(bufferBytes) +
                                          " bytes of tensors, found more");
  written += size;
  return file.write(bytes, size);
}

Status SafetensorsWriter::write(const MemoryView &bytes, uint64_t size) {
  return bytes.read(size, [&](const char *part, uint64_t partBytes) {
    return write(part, partBytes);
  });
}

Status SafetensorsWriter::commit(FolderSync folder) {
  if (written != bufferBytes)
    return cannotExpress(
        file.path(), "expected " + std::to_string(bufferBytes) +
                         " bytes of tensors, found " + std::to_string(written));
  return file.commit(folder);
}

} // namespace hone::rt
