//===- Chat.h - A conversation --------------------------------------------===//
//
// Each turn renders the whole conversation with the model's template, since a
// template may show earlier turns otherwise once there are later ones. The part
// that begins as before is not computed again.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "program/ChatInput.h"
#include "program/ChatPrompt.h"
#include "program/TextWriter.h"

#include <string>
#include <vector>

namespace hone::rt {

class Chat {
public:
  /// All outlive the conversation, which goes on from `begun`.
  Chat(const GenerateOptions &options, const ModelFiles &files,
       const ModuleConfig &config, ChatPrompt prompt, TextWriter &writer,
       Conversation begun);

  /// Reads turns from standard input and answers them, until it ends, /quit is
  /// said, nobody reads the answers, or a signal asks. SIGINT ends an answer
  /// that is being made and no more. A turn that cannot be answered is said and
  /// left out. Errors: BadLogits, ReadFailed, WriteFailed, as Device::wait.
  Status run();

private:
  Status answer();
  Status leaveOut(const Status &why);
  bool obey(const std::string &line);
  void setSystem(const std::string &text);
  void reset();
  void save(const std::string &path);

  const GenerateOptions &options;
  const ModelFiles &files;
  const ModuleConfig &config;
  ChatPrompt prompt;
  TextWriter &writer;
  ChatInput input;
  /// All turns are answered but for a last one of the user or a tool.
  Conversation said;
  std::string saved; ///< the file that this conversation is in
  const bool isTerminal;
};

} // namespace hone::rt
