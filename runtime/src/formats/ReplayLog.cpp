//===- ReplayLog.cpp - A run as the numbers of its steps ------------------===//

#include "formats/ReplayLog.h"

#include "base/Counted.h"
#include "base/Json.h"
#include "base/JsonReader.h"
#include "base/OutputFile.h"
#include "base/Sha256.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

namespace hone::rt {

using Chain = std::array<uint8_t, 8>;

/// More than any run's identity takes.
static constexpr uint64_t LongestLine = 1 << 20;
/// As many as there are names of directions.
static constexpr uint64_t MostCoefficients = 1 << 11;

static Chain chainBehind(const Chain *before, const void *bytes,
                         uint64_t size) {
  Sha256 hash;
  if (before)
    hash.update(before->data(), before->size());
  hash.update(bytes, size);
  Sha256::Digest digest = hash.finish();
  Chain chain;
  std::copy_n(digest.begin(), chain.size(), chain.begin());
  return chain;
}

static Status damaged(const std::string &path, const std::string &problem,
                      const std::string &remedy = "get the whole file again") {
  return Status(ErrorCode::DamagedReplay, path, problem, remedy);
}

static Status noLog(const std::string &path) {
  return Status(
      ErrorCode::NotAReplay, path,
      "expects a replay.hone that a run wrote, but the file begins differently",
      "name the replay.hone in that run's --output");
}

//===----------------------------------------------------------------------===//
// The first line
//===----------------------------------------------------------------------===//

static std::string lineOf(const ReplayHeader &header) {
  std::string out = "{\"hone_replay\": 1, \"coefficients\": " +
                    std::to_string(header.coefficients) + ", \"start\": ";
  out += jsonString(header.start) + ", \"run\": {";
  return out + jsonMembers(header.run, ", ") + "}}\n";
}

std::string ReplayHeader::digest() const { return Sha256::hex(lineOf(*this)); }

/// False if it is no such line.
static bool parseLine(std::string_view line, const std::string &path,
                      ReplayHeader &header) {
  JsonReader reader(line, path);
  int64_t version = 0, coefficients = 0;
  std::string key;
  for (reader.beginObject(); reader.nextMember(key);) {
    if (key == "hone_replay") {
      reader.unsignedInteger(version);
    } else if (key == "coefficients") {
      reader.unsignedInteger(coefficients);
    } else if (key == "start") {
      reader.string(header.start);
    } else if (key == "run") {
      for (reader.beginObject(); reader.nextMember(key);)
        reader.string(header.run[key]);
    } else {
      return false;
    }
  }
  header.coefficients = uint64_t(coefficients);
  return reader.finish() && reader.ok() && version == 1 && coefficients > 0 &&
         header.coefficients < MostCoefficients;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

uint64_t ReplayReader::recordBytes() const {
  return first.coefficients * sizeof(float) + sizeof(Chain);
}

uint64_t ReplayReader::placeOf(uint64_t index) const {
  return headerBytes + index * recordBytes();
}

Result<ReplayReader> ReplayReader::read(const std::string &path,
                                        const uint64_t *wanted) {
  HONE_ASSIGN(MappedFile mapped, MappedFile::open(path));
  ReplayReader log;
  log.file = std::move(mapped);
  std::string_view bytes = log.file.bytes();
  size_t end = bytes.substr(0, LongestLine).find('\n');
  if (end == std::string_view::npos ||
      !parseLine(bytes.substr(0, end), path, log.first))
    return noLog(path);
  log.headerBytes = end + 1;
  log.chain = chainBehind(nullptr, bytes.data(), log.headerBytes);
  uint64_t whole = (bytes.size() - log.headerBytes) / log.recordBytes();
  bool isTorn = log.placeOf(whole) != bytes.size();
  if (wanted ? *wanted > whole : isTorn)
    return damaged(
        path, "expects " + (wanted ? counted(*wanted, "step") : "whole steps") +
                  " but has " + std::to_string(whole) +
                  (isTorn ? " and a part of one" : ""));
  log.count = wanted ? *wanted : whole;
  const uint64_t payload = log.recordBytes() - sizeof(Chain);
  for (uint64_t i = 0, released = 0; i < log.count; ++i) {
    const char *record = bytes.data() + log.placeOf(i);
    log.chain = chainBehind(&log.chain, record, payload);
    if (memcmp(log.chain.data(), record + payload, sizeof(Chain)) != 0)
      return damaged(path, (i == 0 ? "the first line, or step " : "step ") +
                               std::to_string(i + 1) + " of " +
                               std::to_string(log.count) +
                               " has changed since it was written");
    if (log.placeOf(i) - released < MappedFile::VisitBytes)
      continue;
    released = log.placeOf(i);
    log.file.releaseBehind(released);
  }
  return log;
}

Result<ReplayReader> ReplayReader::open(const std::string &path) {
  return read(path, nullptr);
}

std::vector<float> ReplayReader::step(uint64_t index) const {
  std::vector<float> numbers(first.coefficients);
  memcpy(numbers.data(), file.data() + placeOf(index),
         numbers.size() * sizeof(float));
  return numbers;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Status ReplayWriter::failure(const char *doing, platform::Error error) const {
  return Status(ErrorCode::WriteFailed, path,
                std::string(doing) + ": " + error.message(),
                "check the disk; the same command resumes");
}

Result<ReplayWriter> ReplayWriter::create(const std::string &path,
                                          const ReplayHeader &header) {
  const std::string line = lineOf(header);
  HONE_TRY(writeFile(path, line));
  ReplayWriter log;
  log.path = path;
  log.coefficients = header.coefficients;
  log.chain = chainBehind(nullptr, line.data(), line.size());
  if (platform::Error error = log.file.open(path, platform::File::Mode::Append))
    return log.failure("cannot open", error);
  return log;
}

Result<ReplayWriter> ReplayWriter::resume(const std::string &path,
                                          uint64_t steps,
                                          const CheckpointFields &run) {
  // A run without the steps before its checkpoint would leave a log of another.
  const char *remedy = "put the whole file of this run back, or start again in "
                       "another --output";
  Result<ReplayReader> read = ReplayReader::read(path, &steps);
  if (!read.isOk() && read.status().errorCode() == ErrorCode::ReadFailed)
    return read.status();
  if (!read.isOk())
    return damaged(path, read.status().message().problem, remedy);
  const ReplayReader &there = read.value();
  if (there.header().run != run)
    return damaged(path,
                   "it belongs to another run than the checkpoint beside it",
                   remedy);
  ReplayWriter log;
  log.path = path;
  log.coefficients = there.header().coefficients;
  log.chain = there.chain;
  platform::Error error = log.file.open(path, platform::File::Mode::Append);
  if (!error)
    error = log.file.truncate(there.placeOf(steps));
  if (error)
    return log.failure("cannot go on", error);
  return log;
}

Status ReplayWriter::append(const float *numbers) {
  if (!file.isOpen())
    return Status::ok();
  const uint64_t payload = coefficients * sizeof(float);
  chain = chainBehind(&chain, numbers, payload);
  std::vector<char> record(payload + sizeof(Chain));
  memcpy(record.data(), numbers, payload);
  memcpy(record.data() + payload, chain.data(), sizeof(Chain));
  platform::Error error = file.write(record.data(), record.size());
  return error ? failure("cannot write", error) : Status::ok();
}

Status ReplayWriter::sync() {
  if (!file.isOpen())
    return Status::ok();
  platform::Error error = file.syncData();
  return error ? failure("cannot make it durable", error) : Status::ok();
}

} // namespace hone::rt
