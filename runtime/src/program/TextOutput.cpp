//===- TextOutput.cpp - Text that is made, on standard output -------------===//

#include "program/TextOutput.h"

#include "platform/Files.h"
#include "program/StandardOutput.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>

namespace hone::rt {

TextOutput::TextOutput(const GenerateOptions &options,
                       const Tokenizer *tokenizer)
    : tokenizer(tokenizer), showsIds(options.showIds),
      isTerminal(platform::isTerminal(platform::StandardOutput)),
      stream(options.stop) {}

Status TextOutput::write(std::string_view text) {
  if (text.empty() || closed)
    return Status::ok();
  const std::string shown = isTerminal ? printable(text) : std::string(text);
  errno = 0;
  if (fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() &&
      fflush(stdout) == 0)
    return Status::ok();
  closed = true;
  return errno == EPIPE ? Status::ok() : outputFailed(errno);
}

Status TextOutput::show(const std::string &text) {
  made += text;
  return showsIds ? Status::ok() : write(text);
}

Status TextOutput::add(int32_t id) {
  if (tokenizer) {
    bytes.clear();
    tokenizer->appendToken(id, bytes);
    HONE_TRY(show(stream.add(bytes)));
  }
  if (!showsIds)
    return Status::ok();
  char line[16];
  return write(
      {line, size_t(snprintf(line, sizeof(line), "%" PRId32 "\n", id))});
}

Status TextOutput::finish(bool endsLine) {
  HONE_TRY(show(stream.finish()));
  return endsLine || (isTerminal && !showsIds) ? write("\n") : Status::ok();
}

void endLineOfText() {
  using namespace platform;
  if (!isTerminal(StandardOutput) &&
      (isTerminal(StandardError) || areSame(StandardOutput, StandardError)))
    fputc('\n', stderr);
}

} // namespace hone::rt
