//===- StepLog.cpp - The JSONL log of a run -------------------------------===//
//
// Losses are written with 17 digits: two logs are equal when the bits are.
//
//===----------------------------------------------------------------------===//

#include "program/StepLog.h"

#include "base/Json.h"
#include "base/MappedFile.h"
#include "base/OutputFile.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace hone::rt {

static constexpr std::string_view stepKey = "{\"step\": ";
static constexpr std::string_view runKey = ", \"run\": \"";

/// Takes `word` off the front of `text`.
static bool take(std::string_view &text, std::string_view word) {
  if (text.substr(0, word.size()) != word)
    return false;
  text.remove_prefix(word.size());
  return true;
}

namespace {
/// What of a log stays when the run `name` resumes after `completed` steps.
class LogLines {
public:
  LogLines(const MappedFile &file, const std::string &name, uint64_t completed)
      : file(file), name(name), completed(completed) {}

  /// Bytes before the first line that goes; all of them when none does.
  uint64_t prefix = 0;
  bool keepsMore = false; ///< behind that line
  bool isLog = true;

  /// Calls keep(line) for each that stays.
  template <typename Keep> void read(Keep keep) {
    std::string_view text = file.bytes();
    bool goes = false, isTorn = false;
    for (uint64_t at = 0, released = 0; at < text.size() && isLog;) {
      std::string_view line = text.substr(at, LongestLine);
      size_t zeros = std::min(line.find_first_not_of('\0'), line.size());
      size_t end = line.find_first_of(std::string_view("\n\0", 2));
      bool isWhole = end != std::string_view::npos && line[end] == '\n';
      if (zeros > 0)
        line = line.substr(0, zeros);
      else if (end != std::string_view::npos)
        line = line.substr(0, end + isWhole);
      else if (line.size() == LongestLine)
        isLog = false;
      if (zeros > 0 || isTorn) {
        // A power cut leaves zeros for what was not durable, and behind them
        // the rest of a line.
        isLog = isLog && (zeros > 0 || isText(line));
        isTorn = zeros > 0 || !isWhole;
        goes = true;
      } else if (isLog && stays(line, isWhole)) {
        keep(line);
        keepsMore |= goes;
        prefix += goes ? 0 : line.size();
      } else {
        goes = true;
      }
      at += line.size();
      if (at - released >= MappedFile::VisitBytes) {
        file.releaseBehind(at);
        released = at;
      }
    }
  }

private:
  /// otherNumerics() may name every feature of a target and every layer.
  static constexpr size_t LongestLine = 1 << 16;

  static bool isText(std::string_view line) {
    return std::all_of(line.begin(), line.end(),
                       [](unsigned char c) { return c >= ' ' || c == '\n'; });
  }

  bool stays(std::string_view line, bool isWhole) {
    // A kill can leave a line of any length, but not of any content.
    isLog = line.substr(0, stepKey.size()) == stepKey.substr(0, line.size());
    if (!isLog || !isWhole)
      return false;
    line.remove_prefix(stepKey.size());
    uint64_t step = 0;
    for (; !line.empty() && line[0] >= '0' && line[0] <= '9';
         line.remove_prefix(1))
      step = step * 10 + uint64_t(line[0] - '0');
    isLog = line.substr(0, 1) == ",";
    return step <= completed || !take(line, runKey) || !take(line, name);
  }

  const MappedFile &file;
  const std::string &name;
  uint64_t completed;
};
} // namespace

StepLog::~StepLog() {
  if (file >= 0)
    close(file);
}

StepLog &StepLog::operator=(StepLog &&other) noexcept {
  std::swap(file, other.file);
  std::swap(path, other.path);
  std::swap(name, other.name);
  return *this;
}

Status StepLog::failure(const char *doing) const {
  return Status::error(ErrorCode::WriteFailed,
                       {path, std::string(doing) + ": " + strerror(errno),
                        "check the disk, or give another --log"});
}

/// Shares the lock of the log's writers. False if somebody keeps it for himself
/// longer than taking lines out can last.
static bool shareLock(int file) {
  for (int tries = 0; tries < 500; ++tries) {
    if (flock(file, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
      return true; // some file systems have no locks
    usleep(10 * 1000);
  }
  return false;
}

/// Writes the lines that stay to a new file in the place of `path`.
static Status rewrite(const std::string &path, LogLines lines) {
  Result<OutputFile> out = OutputFile::create(path);
  if (!out.isOk())
    return out.status();
  Status written = Status::ok();
  lines.read([&](std::string_view line) {
    if (written.isOk())
      written = out.value().write(line);
  });
  return written.isOk() ? out.value().commit() : written;
}

Result<StepLog> StepLog::open(const std::string &path, const std::string &name,
                              uint64_t completed) {
  StepLog log;
  if (path.empty())
    return log;
  log.path = path;
  log.name = name;
  // O_NONBLOCK: opening a pipe that nobody reads must not hang.
  log.file = ::open(path.c_str(),
                    O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (log.file < 0)
    return Status::error(ErrorCode::CannotCreate,
                         {path, std::string("cannot open: ") + strerror(errno),
                          "check the folder, or give another --log"});
  // Writers share the lock; whoever takes lines out has it alone.
  bool isAlone = flock(log.file, LOCK_EX | LOCK_NB) == 0;
  if (!isAlone && !shareLock(log.file))
    return Status::error(ErrorCode::LogInUse,
                         {path, "another program has locked it for itself",
                          "wait for it to end, or give another --log"});
  off_t size = lseek(log.file, 0, SEEK_END);
  if (size < 0) // a pipe or a terminal
    return log;
  const std::string target = targetOf(path), folder = parentDirectory(target);
  removeStrayTemporaries(folder, [&](const std::string &name) {
    return name == target.substr(target.rfind('/') + 1);
  });
  // Checkpoints rely on the lines before them, so the name must be durable
  // before the first.
  if (size == 0) {
    Status status = syncDirectory(folder);
    return status.isOk() ? Result<StepLog>(std::move(log)) : status;
  }
  Result<MappedFile> present = MappedFile::map(log.file, path);
  if (!present.isOk())
    return present.status();
  LogLines lines(present.value(), name, completed);
  lines.read([](std::string_view) {});
  if (!lines.isLog)
    return Status::error(ErrorCode::NotALog,
                         {path,
                          "expects a log that this program wrote but got "
                          "something else",
                          "give another --log; the file was not changed"});
  if (lines.prefix < present.value().size() && !isAlone)
    return Status::error(ErrorCode::LogInUse,
                         {path,
                          "this run's lines after step " +
                              std::to_string(completed) +
                              " must go, but another run is writing this log",
                          "wait for it to end, or give another --log"});
  if (lines.keepsMore) {
    Status status = rewrite(target, {present.value(), name, completed});
    return status.isOk() ? open(path, name, completed) : status;
  }
  if (lines.prefix < present.value().size() &&
      ftruncate(log.file, off_t(lines.prefix)) != 0)
    return log.failure("cannot cut off the lines after the checkpoint");
  (void)shareLock(log.file);
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
  char line[512], norm[32] = "null";
  if (!std::isnan(record.gradientNorm))
    snprintf(norm, sizeof(norm), "%.17g", record.gradientNorm);
  int size =
      snprintf(line, sizeof(line),
               "%s%" PRIu64 "%s%s\", \"loss\": %.17g, "
               "\"learning_rate\": %.17g, "
               "\"gradient_norm\": %s, \"tokens_per_second\": %.1f, "
               "\"peak_anonymous_bytes\": %" PRIu64
               ", \"peak_resident_bytes\": %" PRIu64 "}\n",
               stepKey.data(), record.step, runKey.data(), name.c_str(),
               record.loss, record.learningRate, norm, record.tokensPerSecond,
               record.peakAnonymousBytes, record.peakResidentBytes);
  return write(line, size);
}

Status StepLog::evaluation(uint64_t step, double loss) {
  char line[128];
  int size = snprintf(line, sizeof(line),
                      "%s%" PRIu64 "%s%s\", \"eval_loss\": %.17g}\n",
                      stepKey.data(), step, runKey.data(), name.c_str(), loss);
  return write(line, size);
}

Status StepLog::otherNumerics(uint64_t step, const std::string &differences) {
  std::string line(stepKey);
  line += std::to_string(step);
  line += runKey;
  line += name + "\", \"other_numerics\": ";
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
