//===- TokenCache.cpp - Tokenised samples in a file -----------------------===//
//
// The offsets are collected in a second file, because their number is only
// known at the end and they would otherwise be a heap that grows with data.
//
//===----------------------------------------------------------------------===//

#include "data/TokenCache.h"

#include "step/Evaluation.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

static constexpr char Magic[] = "HONEDAT1";

static constexpr std::string_view Extension = ".tokens";

bool TokenCache::isName(const std::string &name) {
  return name.size() > Extension.size() &&
         name.compare(name.size() - Extension.size(), Extension.size(),
                      Extension) == 0;
}

Status TokenCacheWriter::open(const std::string &directory,
                              const std::string &path) {
  isNamed = !path.empty();
  Result<OutputFile> created =
      isNamed ? OutputFile::create(path) : OutputFile::createUnnamed(directory);
  HONE_TRY(created);
  data = std::move(created.value());
  created = OutputFile::createUnnamed(directory);
  HONE_TRY(created);
  offsets = std::move(created.value());
  return Status::ok();
}

Status TokenCacheWriter::add(const int32_t *ids, const int32_t *labels,
                             size_t count, uint16_t mark) {
  shifted.assign(labels + 1, labels + count);
  shifted.push_back(NoTarget);
  return addTargets(ids, shifted.data(), count, mark);
}

Status TokenCacheWriter::addTargets(const int32_t *ids, const int32_t *targets,
                                    size_t count, uint16_t mark) {
  const uint64_t begin = tokenCount * 2 | uint64_t(mark) << OffsetBits;
  targetCount +=
      count - uint64_t(std::count(targets, targets + count, NoTarget));
  tokenCount += count;
  ++sampleCount;
  HONE_TRY(data.write(ids, count * sizeof *ids));
  HONE_TRY(data.write(targets, count * sizeof *ids));
  return offsets.write(&begin, sizeof begin);
}

/// Appends the offsets to the samples.
static Status appendOffsets(OutputFile &offsets, OutputFile &data) {
  HONE_ASSIGN(MappedFile mapped, offsets.map());
  Status copied = Status::ok();
  mapped.visit(0, mapped.size(), [&](const char *bytes, uint64_t size) {
    if (copied.isOk())
      copied = data.write(bytes, size);
  });
  return copied;
}

Result<MappedFile> TokenCacheWriter::commit(DataFormat format,
                                            int64_t vocabularySize,
                                            std::string notes) {
  const uint64_t end = tokenCount * 2;
  HONE_TRY(offsets.write(&end, sizeof end));
  notes.append((8 - notes.size() % 8) % 8, ' ');
  TokenCacheFooter footer{};
  std::memcpy(footer.magic, Magic, sizeof footer.magic);
  footer.format = uint32_t(format);
  footer.vocabularySize = uint32_t(vocabularySize);
  footer.samples = sampleCount;
  footer.tokens = tokenCount;
  footer.targets = targetCount;
  footer.noteBytes = notes.size();
  HONE_TRY(appendOffsets(offsets, data));
  HONE_TRY(data.write(notes));
  HONE_TRY(data.write(&footer, sizeof footer));
  Result<MappedFile> mapped = data.map();
  if (mapped.isOk() && isNamed)
    // Durable bytes, or zeros could pass for tokens; a lost name costs time.
    HONE_TRY(data.commit(FolderSync::Later));
  return mapped;
}

uint64_t TokenCache::word(uint64_t sample) const {
  uint64_t value;
  std::memcpy(&value,
              file.data() + counts.tokens * 2 * sizeof(int32_t) +
                  sample * sizeof value,
              sizeof value);
  return value;
}

const int32_t *TokenCache::ids(uint64_t sample) const {
  return reinterpret_cast<const int32_t *>(file.data()) + offset(sample);
}

std::string_view TokenCache::notes() const {
  const std::string_view padded = file.bytes().substr(
      file.size() - sizeof counts - counts.noteBytes, counts.noteBytes);
  return padded.substr(0, padded.find_last_not_of(' ') + 1);
}

namespace {

/// Whether marks, in their order, are those of samples of a task, whose lines
/// have their right candidate once, or of others, which have no candidates.
class MarkRules {
public:
  explicit MarkRules(bool isTask) : isTask(isTask) {}

  bool add(uint16_t mark) {
    const bool continues = mark & SampleMark::Continues;
    const bool isWrong = mark & SampleMark::Wrong;
    if (mark > (SampleMark::Continues | SampleMark::Wrong) ||
        (isFirst && continues) || (isWrong && !isTask) ||
        (!continues && !isWhole()))
      return false;
    isFirst = false;
    right = (continues ? right : 0) + !isWrong;
    ofLine = (continues ? ofLine : 0) + 1;
    return !isTask || ofLine <= ScoredExample::MostCandidates;
  }
  /// Whether a line may end here.
  bool isWhole() const { return !isTask || right == 1; }

private:
  const bool isTask;
  bool isFirst = true;
  uint64_t right = 1, ofLine = 0;
};

} // namespace

bool TokenCache::check(int64_t vocabularySize, int64_t maxSequenceLength) {
  if (file.size() < sizeof counts || file.size() % 8 != 0)
    return false;
  const uint64_t body = file.size() - sizeof counts;
  std::memcpy(&counts, file.data() + body, sizeof counts);
  if (std::memcmp(counts.magic, Magic, sizeof counts.magic) != 0 ||
      counts.format > uint32_t(LastDataFormat) ||
      counts.vocabularySize != vocabularySize)
    return false;
  // Each count is below 2^60 before it is multiplied.
  if (counts.samples == 0 || counts.samples > body / 8 ||
      counts.tokens > body / 8 || counts.noteBytes > body ||
      counts.tokens * 8 + (counts.samples + 1) * 8 + counts.noteBytes != body)
    return false;
  if (offset(0) != 0 || word(counts.samples) != counts.tokens * 2)
    return false;
  MarkRules marks(DataFormat(counts.format) == DataFormat::Task);
  uint64_t targetCount = 0, checked = 0;
  for (uint64_t i = 0; i < counts.samples; ++i) {
    const uint64_t begin = offset(i), end = offset(i + 1);
    if (end <= begin || end > counts.tokens * 2 || (end - begin) % 2 != 0 ||
        !marks.add(mark(i)))
      return false;
    const uint64_t size = length(i);
    if (size > uint64_t(maxSequenceLength))
      return false;
    checked += sizeof(uint64_t) + size * 8;
    if (checked >= MappedFile::VisitBytes) {
      release();
      checked = 0;
    }
    const int32_t *id = ids(i), *target = targets(i);
    for (uint64_t k = 0; k < size; ++k) {
      if (id[k] < 0 || id[k] >= vocabularySize)
        return false;
      if (target[k] == NoTarget)
        continue;
      if (target[k] < 0 || target[k] >= vocabularySize)
        return false;
      ++targetCount;
    }
  }
  return targetCount == counts.targets && marks.isWhole();
}

Result<TokenCache> TokenCache::open(MappedFile file, int64_t vocabularySize,
                                    int64_t maxSequenceLength) {
  TokenCache cache;
  cache.file = std::move(file);
  if (!cache.check(vocabularySize, maxSequenceLength))
    return Status(ErrorCode::BadTokenCache, cache.file.path(),
                  "expected a token cache of this version but its content is "
                  "inconsistent",
                  "delete the file; it is made again from the data");
  cache.release();
  return cache;
}

} // namespace hone::rt
