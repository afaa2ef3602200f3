//===- SuspendedStep.cpp - A step that another process goes on with -------===//

#include "step/SuspendedStep.h"

#include "base/Sha256.h"
#include "formats/JsonFile.h"
#include "module/Setting.h"
#include "platform/Files.h"
#include "step/RunIdentity.h"
#include "step/TimedPause.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

static constexpr int64_t FormatVersion = 1;
static constexpr const char *StepKey = "step";      ///< of the metadata
static constexpr const char *MemoryName = "memory"; ///< the arena
static constexpr const char *OffloadedName = "offloaded";
static constexpr const char *DigestName = "sha256"; ///< of all before it
static constexpr uint64_t DigestBytes = 32;
static constexpr const char *probeSuffix = ".probe"; ///< see timeWriting

static Status damaged(const std::string &place, const std::string &problem) {
  return Status(ErrorCode::DamagedSuspended, place, problem,
                "remove it: the run then goes on from its newest checkpoint");
}

//===----------------------------------------------------------------------===//
// As JSON
//===----------------------------------------------------------------------===//

std::string SuspendedStep::describe() const {
  return "step " + std::to_string(completed + 1) + " after " +
         std::to_string(state.position.number) + " launches";
}

static void appendFields(std::string &out, const char *key,
                         const CheckpointFields &fields) {
  out += std::string(", \"") + key + "\": {" + jsonMembers(fields, ", ") + "}";
}

template <typename Numbers, typename Get>
static void appendNumbers(std::string &out, const char *key,
                          const Numbers &numbers, uint64_t count, Get get) {
  out += std::string(", \"") + key + "\": [";
  for (uint64_t i = 0; i < count; ++i)
    out += (i ? ", " : "") + std::to_string(get(numbers[i]));
  out += "]";
}

std::string SuspendedStep::text() const {
  const Position &position = state.position;
  std::string out = "{\"format_version\": " + std::to_string(FormatVersion);
  auto append = [&](const char *key, const std::string &value) {
    out += std::string(", \"") + key + "\": " + value;
  };
  append("completed", std::to_string(completed));
  append("launches", std::to_string(position.launches));
  append("number", std::to_string(position.number));
  append("batch", std::to_string(position.batch));
  append("rows", std::to_string(position.rows));
  append("epoch", std::to_string(state.left.epoch));
  append("first", std::to_string(state.left.first));
  append("count", std::to_string(state.left.count));
  append("batches", std::to_string(state.batches));
  append("tokens", std::to_string(state.tokens));
  append("seconds", formatExact(seconds));
  append("longest", formatExact(longest));
  append("offloaded", std::to_string(offloaded));
  append("program", "\"" + program + "\"");
  append("given_rows", "\"" + rows + "\"");
  appendNumbers(out, "items", position.path, position.depth + 1,
                [](const Position::Place &place) { return place.item; });
  appendNumbers(out, "ticks", position.path, position.depth + 1,
                [](const Position::Place &place) { return place.tick; });
  appendNumbers(out, "batch_rows", position.batchRows,
                position.batchRows.size(), [](int64_t rows) { return rows; });
  appendFields(out, "run", identity.run);
  appendFields(out, "numerics", identity.numerics);
  appendFields(out, "evaluation", evaluation);
  return out + "}";
}

namespace {
/// Reads the members of an object; the first that is wrong is the status.
class Members {
public:
  Members(const Json &root, const std::string &place)
      : root(root), place(place) {}

  template <typename Whole> void read(const char *key, Whole &to) {
    const Json *value = root.find(key);
    if (expect(value && value->isInteger() && value->integer() >= 0, key))
      to = Whole(value->integer());
  }
  void read(const char *key, double &to) {
    const Json *value = root.find(key);
    if (expect(value && value->isNumber() && value->number() >= 0, key))
      to = value->number();
  }
  void read(const char *key, std::string &to) {
    const Json *value = root.find(key);
    if (expect(value && value->isString(), key))
      to = value->string();
  }
  void read(const char *key, std::vector<int64_t> &to) {
    const Json *value = root.find(key);
    if (!expect(value && value->isArray(), key))
      return;
    for (const Json &each : value->array())
      if (expect(each.isInteger() && each.integer() >= 0, key))
        to.push_back(each.integer());
  }
  void read(const char *key, CheckpointFields &to) {
    const Json *value = root.find(key);
    if (!expect(value && value->isObject(), key))
      return;
    for (const auto &[name, text] : value->object())
      if (expect(text.isString(), key))
        to[name] = text.string();
  }
  bool expect(bool holds, const char *key) {
    if (!holds && status.isOk())
      status = damaged(place, std::string("expects a \"") + key +
                                  "\" of another kind or value");
    return holds;
  }

  Status status = Status::ok();

private:
  const Json &root;
  const std::string &place;
};
} // namespace

Result<SuspendedStep> SuspendedStep::parse(std::string_view text,
                                           const std::string &place) {
  Result<Json> parsed = Json::parse(text, place, FewJsonValues);
  if (!parsed.isOk())
    return damaged(place, parsed.status().message().problem);
  Members members(parsed.value(), place);
  SuspendedStep step;
  Position &position = step.state.position;
  int64_t version = 0;
  std::vector<int64_t> places, ticks;
  members.read("format_version", version);
  members.expect(version == FormatVersion, "format_version");
  members.read("completed", step.completed);
  members.read("launches", position.launches);
  members.read("number", position.number);
  members.read("batch", position.batch);
  members.read("rows", position.rows);
  members.read("epoch", step.state.left.epoch);
  members.read("first", step.state.left.first);
  members.read("count", step.state.left.count);
  members.read("batches", step.state.batches);
  members.read("tokens", step.state.tokens);
  members.read("seconds", step.seconds);
  members.read("longest", step.longest);
  members.read("offloaded", step.offloaded);
  members.read("program", step.program);
  members.read("given_rows", step.rows);
  members.read("items", places);
  members.read("ticks", ticks);
  members.read("batch_rows", position.batchRows);
  members.read("run", step.identity.run);
  members.read("numerics", step.identity.numerics);
  members.read("evaluation", step.evaluation);
  if (members.expect(!places.empty() && places.size() <= Values::maxDepth + 1,
                     "items") &&
      members.expect(ticks.size() == places.size(), "ticks")) {
    position.depth = uint32_t(places.size() - 1);
    for (size_t i = 0; i < places.size(); ++i)
      position.path[i] = {uint32_t(places[i]), ticks[i]};
  }
  if (!members.status.isOk())
    return members.status;
  return step;
}

Status SuspendedStep::check(const std::string &place,
                            const CheckpointIdentity &run,
                            const std::string &ownProgram) const {
  if (std::string other = describeDifferences(identity.run, run.run);
      !other.empty())
    return Status(ErrorCode::OtherRun, place,
                  "the step that was suspended here is of another run: " +
                      other,
                  "to resume it, repeat the options of its first start, or "
                  "give another folder");
  if (program == ownProgram)
    return Status::ok();
  const std::string other =
      describeDifferences(identity.numerics, run.numerics);
  return Status(ErrorCode::OtherSuspended, place,
                describe() + " was suspended by another program or plan" +
                    (other.empty() ? "" : ": " + other),
                "resume with the program that suspended it, or remove the "
                "file: the run then goes on from its newest checkpoint");
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

Status SuspendedFile::write(const std::string &path, const SuspendedStep &step,
                            const StepMemory &memory) {
  Offloading *const offloaded = memory.offloaded;
  HONE_TRY(checkFinite(int64_t(step.completed) + 1, memory.trained));
  if (offloaded)
    HONE_TRY(offloaded->settle());
  const std::string text = step.text();
  std::vector<TensorSpec> specs = {
      {MemoryName, Dtype::U8, {int64_t(memory.bytes)}},
      {DigestName, Dtype::U8, {int64_t(DigestBytes)}}};
  if (offloaded)
    specs.push_back({OffloadedName, Dtype::U8, {int64_t(offloaded->size())}});
  for (const Trainables::Remembered &own : memory.remembered)
    specs.push_back({own.setting, Dtype::F32, {int64_t(own.values.size())}});
  HONE_ASSIGN(
      SafetensorsWriter writer,
      SafetensorsWriter::create(path, std::move(specs), {{StepKey, text}}));
  Sha256 hash;
  hash.update(text);
  // The digest is of the narrowest type and the last by name.
  auto append = [&](const char *part, uint64_t size) {
    hash.update(part, size);
    return writer.write(part, size);
  };
  for (const TensorInfo &info : writer.tensors()) {
    hash.update(info.name);
    if (info.name == DigestName) {
      const Sha256::Digest digest = hash.finish();
      HONE_TRY(writer.write(digest.data(), digest.size()));
    } else if (info.name == MemoryName) {
      HONE_TRY(memory.arena.read(memory.bytes, append));
    } else if (info.name == OffloadedName) {
      HONE_TRY(offloaded->visit(append));
    }
    for (const Trainables::Remembered &own : memory.remembered)
      if (info.name == own.setting) {
        hash.update(own.values.data(), info.bytes());
        HONE_TRY(writer.write(own.values.data(), info.bytes()));
      }
  }
  return writer.commit();
}

Result<double> SuspendedFile::timeWriting(const std::string &path,
                                          const StepMemory &memory) {
  constexpr uint64_t mostBytes = 16 << 20;
  const uint64_t bytes = std::min(memory.bytes, mostBytes);
  const std::string probe = path + probeSuffix;
  const double before = steadySeconds();
  HONE_TRY(write(probe, {}, {memory.arena, bytes, memory.remembered, {}}));
  const double took = steadySeconds() - before;
  platform::removeFile(probe.c_str());
  return took * double(memory.totalBytes()) / double(bytes);
}

Result<std::optional<SuspendedFile>>
SuspendedFile::open(const std::string &path) {
  const std::string own = platform::lastPart(path);
  removeStrayTemporaries(platform::parentDirectory(path),
                         [&](const std::string &name) {
                           return name == own || name == own + probeSuffix;
                         });
  platform::removeFile((path + probeSuffix).c_str());
  if (!platform::exists(path))
    return std::optional<SuspendedFile>();
  // A handful of tensors, and a step that is less than a trainer.json.
  Result<SafetensorsFile> opened =
      SafetensorsFile::open(path, HeaderLimit::ample(0));
  if (!opened.isOk())
    return opened.status().exitCode() == ExitCode::BadData
               ? damaged(path, opened.status().message().problem)
               : opened.status();
  SuspendedFile found;
  found.file = std::move(opened.value());
  const std::string *text = found.file.findMetadata(StepKey);
  if (!text)
    return damaged(path, "expects a suspended step but got another file");
  HONE_TRY(found.verify(*text));
  HONE_ASSIGN(found.step, SuspendedStep::parse(*text, path));
  return std::optional<SuspendedFile>(std::move(found));
}

Status SuspendedFile::verify(std::string_view text) const {
  HONE_TRY(expect(DigestName, Dtype::U8, DigestBytes));
  Sha256 hash;
  hash.update(text);
  for (const TensorInfo &info : file.tensors()) {
    hash.update(info.name);
    if (info.name != DigestName)
      file.visit(info, [&](const char *part, uint64_t size) {
        hash.update(part, size);
      });
  }
  const Sha256::Digest digest = hash.finish();
  if (memcmp(digest.data(), file.data(*file.find(DigestName)), DigestBytes))
    return damaged(path(), "expects the bytes that were written but got "
                           "others");
  return Status::ok();
}

Status SuspendedFile::expect(const std::string &name, Dtype dtype,
                             uint64_t elements) const {
  const TensorInfo *tensor = file.find(name);
  const std::vector<int64_t> shape = {int64_t(elements)};
  if (tensor && tensor->dtype == dtype && tensor->shape == shape)
    return Status::ok();
  return damaged(path() + ": tensor " + name,
                 std::string("expects ") + dtypeName(dtype) + " " +
                     describeShape(shape) + " but got " +
                     (tensor ? dtypeName(tensor->dtype) + std::string(" ") +
                                   describeShape(tensor->shape)
                             : "none"));
}

void SuspendedFile::copy(const std::string &name, MemoryView to) const {
  file.visit(*file.find(name), [&](const char *bytes, uint64_t size) {
    to.write(size, [&](char *part, uint64_t partBytes) {
      memcpy(part, bytes, partBytes);
      bytes += partBytes;
    });
    to = to + size;
  });
}

Status SuspendedFile::read(const StepMemory &memory) const {
  Offloading *const offloaded = memory.offloaded;
  HONE_TRY(expect(MemoryName, Dtype::U8, memory.bytes));
  if (offloaded)
    HONE_TRY(expect(OffloadedName, Dtype::U8, offloaded->size()));
  for (const Trainables::Remembered &own : memory.remembered)
    HONE_TRY(expect(own.setting, Dtype::F32, own.values.size()));
  if (offloaded) {
    Status status = Status::ok();
    uint64_t offset = 0;
    file.visit(*file.find(OffloadedName),
               [&](const char *bytes, uint64_t size) {
                 if (status.isOk())
                   status = offloaded->fill(offset, bytes, size);
                 offset += size;
               });
    HONE_TRY(status);
  }
  copy(MemoryName, memory.arena);
  for (Trainables::Remembered &own : memory.remembered)
    copy(own.setting, MemoryView(own.values.data()));
  // No step writes such a one.
  Status finite = checkFinite(int64_t(step.completed) + 1, memory.trained);
  return finite.errorCode() == ErrorCode::Diverged
             ? damaged(path(), finite.message().problem)
             : finite;
}

} // namespace hone::rt
