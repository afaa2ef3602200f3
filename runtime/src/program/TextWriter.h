//===- TextWriter.h - From a prompt to a text -----------------------------===//
//
// The generator keeps the tokens with which an earlier prompt and its text
// begin like the next prompt, so a turn of a conversation costs that turn
// alone.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "generate/Generator.h"
#include "module/Memory.h"
#include "program/Prompt.h"
#include "program/TextOutput.h"

#include <cstdint>
#include <string>

namespace hone::rt {

/// Tokens, and their seconds.
struct Rate {
  uint64_t tokens = 0;
  double seconds = 0;

  double perSecond() const {
    return seconds > 0 ? double(tokens) / seconds : 0;
  }
};

class TextWriter {
public:
  /// All outlive the writer. `rows` is how many tokens of a prompt are computed
  /// together; `tokenizer` may be null if ids are shown.
  TextWriter(Generator &generator, const GenerateOptions &options,
             const ModuleConfig &config, const Tokenizer *tokenizer,
             int64_t rows, PeakMeter &peak);

  /// Makes the model ready as options ask, which write() does else. Errors:
  /// those of an adapter.
  Status start() { return use(!options.adapter.empty() && !options.compare); }

  /// Writes the text after `prompt` to standard output, and statistics to
  /// standard error: until something ends the text, a signal asks, or nobody
  /// reads it any more. With --compare, first the text of the model alone, then
  /// that with the adapter. Errors: BadLogits, WriteFailed, those of an
  /// adapter, as Device::wait.
  Status write(const Prompt &prompt);

  /// The text of the last write(), with --compare that of the adapter.
  const std::string &text() const { return made; }
  /// Tokens of the prompt that were computed, and the text's.
  const Rate &read() const { return promptRate; }
  const Rate &written() const { return textRate; }
  /// Why it ended: there was no room, or as many tokens as were asked for.
  bool isFull() const { return full; }
  bool isCut() const { return cut; }
  /// Whether nobody reads standard output any more.
  bool isClosed() const { return closed; }

private:
  Status use(bool adapter);
  void report() const;
  Status readPrompt(const Prompt &prompt);
  Status draw(const Prompt &prompt, TextOutput &output);
  Status writeOne(const Prompt &prompt, const char *heading);

  Generator &generator;
  const GenerateOptions &options;
  const ModuleConfig &config;
  const Tokenizer *tokenizer;
  const int64_t rows;
  PeakMeter &peak;
  Sampler sampler;
  enum class Adapter { Unknown, Off, On } adapter = Adapter::Unknown;
  Rate promptRate, textRate;
  uint64_t promptSize = 0;
  bool full = false, cut = false, closed = false;
  std::string made;
};

} // namespace hone::rt
