//===- Dataset.h - From a data file to samples of token ids ---------------===//
//
// The rules (formats, where bos and eos go, which tokens have a target, which
// samples are left out) are in runtime/README.md, section Data. Samples left
// out are counted in notes(), which callers print before step 0.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "chat/ChatModel.h"
#include "data/CandidateFormat.h"
#include "data/KeyMap.h"
#include "data/SampleSelection.h"
#include "data/TokenCache.h"
#include "step/SampleSource.h"
#include "text/Tokenizer.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hone::rt {

/// The treatment of samples longer than maxSequenceLength.
enum class TooLong : uint8_t {
  ByKind,   ///< texts as with Split, all others as with LeaveOut
  LeaveOut, ///< they are not trained on
  Refuse,   ///< an error
  Cut,      ///< their ends are not trained on
  Split,    ///< they become several samples
};

struct DatasetOptions {
  std::string path;          ///< --data
  int64_t maxSequenceLength; ///< tokens, at least 2
  /// Made when missing; temporaries of dead processes in it are removed. Empty:
  /// the samples go to a file without a name in $TMPDIR.
  std::string cacheDirectory;
  int64_t vocabularySize; ///< of the model: its embedding's rows
  /// Called at least once for each 256 KiB that were read; an error ends the
  /// preparation with it.
  std::function<Status()> onProgress = {};
  TooLong tooLong = TooLong::ByKind;
  /// The block of buildChatBlock; empty: conversations are refused.
  std::string_view chat = {};
  std::string chatPlace = "chat template"; ///< names the block in messages
  TemplateDate date = {};                  ///< today's, for the chat template
  /// Whether special tokens that texts spell are tokens: a chat template wrote
  /// them. Refused of conversations, which it is still to write.
  bool parseSpecialTokens = false;
  /// The task that lines are examples of: each becomes a sample for each of its
  /// candidates. Null: the file's own format.
  const CandidateFormat *task = nullptr;
  /// The names of keys in this file.
  KeyMap map = {};
  std::string mapText = {}; ///< the text of `map`
  /// Samples that cannot be used are left out and counted, and are no error.
  bool skipUnusable = false;
  /// Told of each of them.
  std::function<void(const Status &)> onUnusable = {};
};

class Dataset final : public SampleSource {
public:
  /// Tokenises `options.path` into a cache file, or finds the one that an
  /// earlier run made from the same bytes, tokenizer and options.
  /// `tokenizer` may be null: then only JSONL with "input_ids" is accepted.
  /// Memory: the longest line and a sample, not the file; a part of the plan's
  /// process line that runtime.h counts.
  /// Errors: NoInput, BadData (with file and line), CannotCreate, IoError.
  static Result<Dataset> prepare(const DatasetOptions &options,
                                 const Tokenizer *tokenizer);

  /// The samples that `selection` says, as data of their own, cached as those
  /// of prepare() with the same `options`. Errors: TooFewSamples, CannotCreate,
  /// IoError.
  Result<Dataset> select(const SampleSelection &selection,
                         const DatasetOptions &options) const;

  uint64_t sampleCount() const override { return cache.footer().samples; }
  uint64_t tokenCount() const { return cache.footer().tokens; }
  uint64_t targetCount() const override { return cache.footer().targets; }
  DataFormat format() const { return DataFormat(cache.footer().format); }

  Sample sample(uint64_t index) const override {
    return {cache.ids(index), cache.targets(index),
            int64_t(cache.length(index))};
  }

  bool hasCandidates() const override { return format() == DataFormat::Task; }
  bool continues(uint64_t index) const override {
    return cache.mark(index) & SampleMark::Continues;
  }
  bool isWrong(uint64_t index) const override {
    return cache.mark(index) & SampleMark::Wrong;
  }

  void release() const override { cache.release(); }

  /// Notes for a person before step 0, one sentence a line: the format, the
  /// counts, the samples left out.
  std::string_view notes() const { return cache.notes(); }
  /// Whether an earlier run's cache was used.
  bool wasCached() const { return cached; }
  /// The cache's file name: a hash of all that the samples depend on.
  const std::string &name() const { return cacheName; }

private:
  /// Writes a cache to the path, or without one into the folder.
  using Make = std::function<Result<MappedFile>(const std::string &directory,
                                                const std::string &path)>;
  static Result<Dataset> fromCache(const DatasetOptions &options,
                                   const std::string &name, const Make &make);

  TokenCache cache;
  std::string cacheName;
  bool cached = false;
};

} // namespace hone::rt
