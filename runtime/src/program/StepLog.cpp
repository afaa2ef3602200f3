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
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <utility>

namespace hone::rt {

using platform::File;

bool take(std::string_view &text, std::string_view word) {
  if (text.substr(0, word.size()) != word)
    return false;
  text.remove_prefix(word.size());
  return true;
}

namespace {
/// The lines of a log that stay when the run `name` resumes after `completed`
/// steps.
class LogLines {
public:
  LogLines(const MappedFile &file, const std::string &name, uint64_t completed)
      : file(file), name(name), completed(completed) {}

  /// Bytes before the first line that goes; all of them when none does.
  uint64_t prefix = 0;
  bool keepsMore = false; ///< after that line
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
        // A power cut leaves zeros for bytes that were not durable, and after
        // them the rest of a line.
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
  /// otherNumerics() may name every feature of a target and every layer, and
  /// comparison() has some 200 bytes of each layer.
  static constexpr size_t LongestLine = 1 << 20;

  static bool isText(std::string_view line) {
    return std::all_of(line.begin(), line.end(),
                       [](unsigned char c) { return c >= ' ' || c == '\n'; });
  }

  bool stays(std::string_view line, bool isWhole) {
    // A kill can leave a line of any length, but not of any content.
    isLog =
        line.substr(0, LogStepKey.size()) == LogStepKey.substr(0, line.size());
    if (!isLog || !isWhole)
      return false;
    line.remove_prefix(LogStepKey.size());
    uint64_t step = 0;
    for (; !line.empty() && line[0] >= '0' && line[0] <= '9';
         line.remove_prefix(1))
      step = step * 10 + uint64_t(line[0] - '0');
    isLog = line.substr(0, 1) == ",";
    return step <= completed || !take(line, LogRunKey) || !take(line, name);
  }

  const MappedFile &file;
  const std::string &name;
  uint64_t completed;
};
} // namespace

Status StepLog::failure(const char *doing, platform::Error error) const {
  return Status(ErrorCode::WriteFailed, path,
                std::string(doing) + ": " + error.message(),
                "check the disk, or give another --log");
}

/// Whether another keeps `file` longer than taking lines out can last, and than
/// a killed run needs to be gone. Some file systems have no locks.
static bool isLocked(const File &file, File::Lock lock) {
  return file.lockSoon(lock) == std::errc::operation_would_block;
}

/// Writes the lines that stay to a new file in the place of `path`.
static Status rewrite(const std::string &path, LogLines lines) {
  HONE_ASSIGN(OutputFile out, OutputFile::create(path));
  Status written = Status::ok();
  lines.read([&](std::string_view line) {
    if (written.isOk())
      written = out.write(line);
  });
  return written.isOk() ? out.commit() : written;
}

Result<StepLog> StepLog::open(const std::string &path, const std::string &name,
                              uint64_t completed) {
  StepLog log;
  if (path.empty())
    return log;
  log.path = path;
  log.name = name;
  if (platform::Error error = log.file.open(path, File::Mode::Append))
    return Status(ErrorCode::CannotCreate, path,
                  "cannot open: " + error.message(),
                  "check the folder, or give another --log");
  // Writers share the lock; a run that takes lines out has it alone.
  const bool isAlone =
      log.file.lock(File::Lock::Alone) != std::errc::operation_would_block;
  if (!isAlone && isLocked(log.file, File::Lock::Shared))
    return Status(ErrorCode::LogInUse, path,
                  "another program has locked it for itself",
                  "wait for it to end, or give another --log");
  uint64_t size = 0;
  if (log.file.size(size)) // a pipe or a terminal
    return log;
  // Checkpoints rely on the lines before them, so the name must be durable
  // before the first.
  if (size == 0) {
    Status status = syncDirectory(platform::parentDirectory(targetOf(path)));
    return status.isOk() ? Result<StepLog>(std::move(log)) : status;
  }
  HONE_ASSIGN(MappedFile present, MappedFile::map(log.file, path));
  LogLines lines(present, name, completed);
  lines.read([](std::string_view) {});
  if (!lines.isLog)
    return Status(ErrorCode::NotALog, path,
                  "expects a log that this program wrote but got "
                  "something else",
                  "give another --log; the file was not changed");
  if (lines.prefix < present.size() && !isAlone) {
    if (isLocked(log.file, File::Lock::Alone))
      return Status(ErrorCode::LogInUse, path,
                    "this run's lines after step " + std::to_string(completed) +
                        " must go, but another run is writing this log",
                    "wait for it to end, or give another --log");
    // To be read again, since the other may have written; both have the lock.
    present = MappedFile();
    log.file.close();
    return open(path, name, completed);
  }
  if (lines.keepsMore) {
    Status status = rewrite(path, {present, name, completed});
    return status.isOk() ? open(path, name, completed) : status;
  }
  if (lines.prefix < present.size())
    if (platform::Error error = log.file.truncate(lines.prefix))
      return log.failure("cannot cut off the lines after the checkpoint",
                         error);
  (void)log.file.lock(File::Lock::Shared);
  return log;
}

Status StepLog::write(const char *line, int size) {
  if (!file.isOpen())
    return Status::ok();
  platform::Error error = file.write(line, uint64_t(size));
  return error ? failure("cannot write", error) : Status::ok();
}

Status StepLog::step(const StepRecord &record) {
  char line[512], norm[32] = "null";
  if (!std::isnan(record.gradientNorm))
    snprintf(norm, sizeof(norm), "%.17g", record.gradientNorm);
  int size = snprintf(line, sizeof(line),
                      "%s%" PRIu64 "%s%s\", \"loss\": %.17g, "
                      "\"learning_rate\": %.17g, ",
                      LogStepKey.data(), record.step, LogRunKey.data(),
                      name.c_str(), record.loss, record.learningRate);
  text.assign(line, size_t(size));
  if (record.partRates)
    for (const auto &[part, rate] : *record.partRates) {
      size = snprintf(line, sizeof(line), "\"%s_learning_rate\": %.17g, ",
                      part.c_str(), rate);
      text.append(line, size_t(size));
    }
  size = snprintf(line, sizeof(line),
                  "\"gradient_norm\": %s, \"tokens_per_second\": %.1f, "
                  "\"peak_anonymous_bytes\": %" PRIu64
                  ", \"peak_resident_bytes\": %" PRIu64,
                  norm, record.tokensPerSecond, record.peakAnonymousBytes,
                  record.peakResidentBytes);
  text.append(line, size_t(size));
  if (record.offloadedBytes > 0) {
    size = snprintf(line, sizeof(line), ", \"offloaded_bytes\": %" PRIu64,
                    record.offloadedBytes);
    text.append(line, size_t(size));
  }
  if (const auto &traffic = record.traffic) {
    size =
        snprintf(line, sizeof(line),
                 ", \"sent_bytes\": %" PRIu64 ", \"received_bytes\": %" PRIu64
                 ", \"waited_seconds\": %.3f",
                 traffic->sent, traffic->received, traffic->waited);
    text.append(line, size_t(size));
  }
  if (record.selectedLayers) {
    text += ", \"selected_layers\": [";
    const char *separator = "";
    for (uint32_t layer : *record.selectedLayers) {
      snprintf(line, sizeof(line), "%s%" PRIu32, separator, layer);
      text += line;
      separator = ", ";
    }
    text += "]";
  }
  text += "}\n";
  return write(text.data(), int(text.size()));
}

/// Appends a number as JSON, which has no infinity.
static void appendNumber(char *out, size_t size, double number) {
  if (std::isfinite(number))
    snprintf(out, size, "%.17g", number);
  else
    snprintf(out, size, "null");
}

Status StepLog::evaluation(uint64_t step, const Evaluation &evaluation) {
  char line[256], loss[32], perplexity[32], accuracy[64] = "";
  appendNumber(loss, sizeof(loss), evaluation.loss);
  appendNumber(perplexity, sizeof(perplexity), evaluation.perplexity());
  if (evaluation.hasAccuracy())
    snprintf(accuracy, sizeof(accuracy), ", \"eval_accuracy\": %.17g",
             evaluation.accuracy());
  int size = snprintf(line, sizeof(line),
                      "%s%" PRIu64 "%s%s\", \"eval_loss\": %s, "
                      "\"perplexity\": %s%s}\n",
                      LogStepKey.data(), step, LogRunKey.data(), name.c_str(),
                      loss, perplexity, accuracy);
  return write(line, size);
}

Status StepLog::otherNumerics(uint64_t step, const std::string &differences) {
  std::string line(LogStepKey);
  line += std::to_string(step);
  line += LogRunKey;
  line += name + "\", \"other_numerics\": " + jsonString(differences) + "}\n";
  return write(line.data(), int(line.size()));
}

Status StepLog::comparison(uint64_t step, const std::string &members) {
  std::string line(LogStepKey);
  line += std::to_string(step);
  line += LogRunKey;
  line += name + "\", " + members + "}\n";
  return write(line.data(), int(line.size()));
}

Status StepLog::sync() {
  if (!file.isOpen())
    return Status::ok();
  platform::Error error = file.syncData();
  // A pipe or a terminal, where there is nothing to sync.
  if (!error || error == std::errc::invalid_argument)
    return Status::ok();
  return failure("cannot make the log durable", error);
}

} // namespace hone::rt
