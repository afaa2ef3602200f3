//===- StepLog.cpp - The JSONL log of a run -------------------------------===//
//
// Losses are written with 17 digits: two logs are equal when the bits are.
//
//===----------------------------------------------------------------------===//

#include "program/StepLog.h"

#include "base/Json.h"
#include "base/MappedFile.h"

#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace hone::rt {

static constexpr std::string_view lineStart = "{\"step\": ";

/// Sets `kept` to the bytes that hold the lines of the first `completed`
/// steps; false when a line is not one of a log.
static bool measureKept(std::string_view text, uint64_t completed,
                        uint64_t &kept) {
  kept = 0;
  while (kept < text.size()) {
    std::string_view rest = text.substr(kept);
    size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    // A kill can leave a line of any length, but not of any content.
    std::string_view start = lineStart.substr(0, line.size());
    if (line.substr(0, start.size()) != start)
      return false;
    if (end == std::string_view::npos)
      return true;
    uint64_t step = 0;
    size_t at = lineStart.size();
    for (; at < line.size() && line[at] >= '0' && line[at] <= '9'; ++at)
      step = step * 10 + uint64_t(line[at] - '0');
    if (at >= line.size() || line[at] != ',')
      return false;
    if (step > completed)
      return true;
    kept += end + 1;
  }
  return true;
}

StepLog::~StepLog() {
  if (file >= 0)
    close(file);
}

StepLog &StepLog::operator=(StepLog &&other) noexcept {
  std::swap(file, other.file);
  std::swap(path, other.path);
  return *this;
}

Status StepLog::failure(const char *doing) const {
  return Status::error(ExitCode::IoError,
                       {path, std::string(doing) + ": " + strerror(errno),
                        "check the disk, or give another --log"});
}

Result<StepLog> StepLog::open(const std::string &path, uint64_t completed) {
  StepLog log;
  if (path.empty())
    return log;
  log.path = path;
  // O_NONBLOCK: opening a pipe that nobody reads must not hang.
  log.file = ::open(path.c_str(),
                    O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (log.file < 0)
    return Status::error(ExitCode::CannotCreate,
                         {path, std::string("cannot open: ") + strerror(errno),
                          "check the folder, or give another --log"});
  off_t size = lseek(log.file, 0, SEEK_END);
  if (size <= 0)
    return log;
  uint64_t kept = 0;
  {
    Result<MappedFile> present = MappedFile::open(path);
    if (!present.isOk())
      return present.status();
    if (!measureKept(present.value().bytes(), completed, kept))
      return Status::error(ExitCode::BadData,
                           {path,
                            "expects a log that this program wrote but got "
                            "something else",
                            "give another --log; the file was not changed"});
  }
  if (ftruncate(log.file, off_t(kept)) != 0)
    return log.failure("cannot cut off the lines after the checkpoint");
  return log;
}

Status StepLog::write(const char *line, int size) {
  if (file < 0)
    return Status::ok();
  for (int done = 0; done < size;) {
    ssize_t some = ::write(file, line + done, size_t(size - done));
    if (some < 0 && errno == EINTR)
      continue;
    if (some <= 0)
      return failure("cannot write");
    done += int(some);
  }
  return Status::ok();
}

Status StepLog::step(const StepRecord &record) {
  char line[384], norm[32] = "null";
  if (!std::isnan(record.gradientNorm))
    snprintf(norm, sizeof(norm), "%.17g", record.gradientNorm);
  int size =
      snprintf(line, sizeof(line),
               "%s%" PRIu64 ", \"loss\": %.17g, \"learning_rate\": %.17g, "
               "\"gradient_norm\": %s, \"tokens_per_second\": %.1f, "
               "\"peak_anonymous_bytes\": %" PRIu64
               ", \"peak_resident_bytes\": %" PRIu64 "}\n",
               lineStart.data(), record.step, record.loss, record.learningRate,
               norm, record.tokensPerSecond, record.peakAnonymousBytes,
               record.peakResidentBytes);
  return write(line, size);
}

Status StepLog::evaluation(uint64_t step, double loss) {
  char line[96];
  int size =
      snprintf(line, sizeof(line), "%s%" PRIu64 ", \"eval_loss\": %.17g}\n",
               lineStart.data(), step, loss);
  return write(line, size);
}

Status StepLog::otherNumerics(uint64_t step, const std::string &differences) {
  std::string line =
      std::string(lineStart) + std::to_string(step) + ", \"other_numerics\": ";
  appendJsonString(line, differences);
  line += "}\n";
  return write(line.data(), int(line.size()));
}

Status StepLog::sync() {
  // EINVAL: the log is a pipe or a terminal, where there is nothing to sync.
  if (file >= 0 && fdatasync(file) != 0 && errno != EINVAL)
    return failure("cannot make the log durable");
  return Status::ok();
}

} // namespace hone::rt
