//===- Chat.cpp - A conversation ------------------------------------------===//

#include "program/Chat.h"

#include "base/OutputFile.h"
#include "base/Utf8.h"
#include "data/ConversationFile.h"
#include "platform/Files.h"
#include "platform/System.h"
#include "program/Signals.h"
#include "program/StandardInput.h"
#include "program/StandardOutput.h"

#include <cstdio>

namespace hone::rt {

static constexpr const char *Help =
    "/reset        forget the turns so far, but for the system's\n/system TEXT "
    " set the system's turn; without TEXT remove it\n/save FILE    write the "
    "conversation as a line of training data\n/quit         end, as the end of "
    "input does\n/help         print this\nA line that ends in \\ continues on "
    "the next one. Ctrl-C ends an answer,\nand at the prompt the program.\n";

static void say(const std::string &text) {
  fputs(printable(text + "\n").c_str(), stderr);
}

Chat::Chat(const GenerateOptions &options, const ModelFiles &files,
           const ModuleConfig &config, ChatPrompt prompt, TextWriter &writer,
           Conversation begun)
    : options(options), files(files), config(config), prompt(std::move(prompt)),
      writer(writer),
      input(readSome,
            [isTerminal =
                 platform::isTerminal(platform::StandardInput)](bool goesOn) {
              if (isTerminal)
                fputs(goesOn ? "  " : "> ", stderr);
            }),
      said(std::move(begun)),
      isTerminal(platform::isTerminal(platform::StandardInput)) {}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

void Chat::reset() {
  said.turns.resize(said.hasSystem());
  saved.clear(); // the file keeps the conversation that ended
  say("a new conversation");
}

void Chat::setSystem(const std::string &text) {
  if (said.hasSystem())
    said.turns.erase(said.turns.begin());
  if (!text.empty())
    said.turns.insert(said.turns.begin(), {ChatRole::System, text, "", false});
  say(text.empty() ? "there is no system turn now"
                   : "the system turn is set, for all turns");
}

void Chat::save(const std::string &path) {
  if (path.empty())
    return say("write /save FILE");
  if (said.turns.empty() || said.turns.back().role != ChatRole::Assistant)
    return say("there is no answer yet that could be saved");
  if (path != saved && platform::exists(path))
    return say(path + " is there already; give another name");
  const std::string line = conversationLine(said);
  if (Status status = writeFile(path, line); !status.isOk()) {
    printError(status);
    return;
  }
  saved = path;
  say("saved in " + path +
      (line.size() > DataLines::LongestConversation
           ? "; it is longer than the lines that Hone trains on, which have "
             "at most " +
                 std::to_string(DataLines::LongestConversation) + " bytes"
           : ""));
}

/// Whether the conversation goes on.
bool Chat::obey(const std::string &line) {
  const size_t end = std::min(line.find_first_of(" \t\n"), line.size());
  const std::string name = line.substr(0, end);
  const size_t begin = line.find_first_not_of(" \t\n", end);
  std::string rest;
  if (begin != std::string::npos)
    rest = line.substr(begin, line.find_last_not_of(" \t\n") + 1 - begin);
  if (name == "/quit")
    return false;
  if (name == "/reset")
    reset();
  else if (name == "/system")
    setSystem(rest);
  else if (name == "/save")
    save(rest);
  else if (name == "/help")
    fputs(Help, stderr);
  else
    say("there is no command " + shortened(name, 64) +
        ", and nothing was sent; /help lists them. To send a text that begins "
        "with /, put a space before it");
  return true;
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

/// An error of the input is printed, and the conversation stays as it was.
Status Chat::leaveOut(const Status &why) {
  if (why.exitCode() != ExitCode::BadData)
    return why;
  Message message = why.message();
  message.problem += "; the last turn is left out";
  if (why.errorCode() == ErrorCode::PromptTooLong)
    message.remedy = "/reset begins another conversation; the room is "
                     "generate.max_length, which is compiled in";
  printError(Status(*why.errorCode(), std::move(message)));
  said.turns.pop_back();
  return Status::ok();
}

Status Chat::answer() {
  Prompt asked;
  Status status =
      prompt.encode(said, "conversation", config.generate.max_length, asked);
  if (status.isOk())
    status = completePrompt(files, config, asked);
  platform::trimHeap();
  if (!status.isOk())
    return leaveOut(status);
  HONE_TRY(writer.write(asked));
  const bool isInterrupted = takeInterrupt();
  if (isInterrupted && writer.written().tokens == 0) {
    said.turns.pop_back();
    say("stopped before the first token; the last turn is left out");
    return Status::ok();
  }
  said.turns.push_back({ChatRole::Assistant, writer.text(), "", false});
  if (writer.isFull())
    say("the answer ends here, since generate.max_length has room for " +
        std::to_string(int64_t(config.generate.max_length)) +
        " tokens; /reset begins another conversation");
  else if (writer.isCut() && !options.quiet)
    say("the answer ends here because of --max-new-tokens");
  return Status::ok();
}

Status Chat::run() {
  if (isTerminal && !options.quiet)
    say("/help lists the commands; Ctrl-D ends the conversation");
  if (said.isAsked())
    HONE_TRY(answer());
  while (!writer.isClosed() && stopRequested() == ExitCode::Success) {
    std::string turn;
    bool isEnd = false;
    Status status = input.next(turn, isEnd);
    if (isTerminal && (isEnd || status.errorCode() == ErrorCode::Stopped))
      fputc('\n', stderr); // after the prompt
    if (isEnd || status.errorCode() == ErrorCode::Stopped)
      break;
    if (!status.isOk() && status.exitCode() != ExitCode::BadData)
      return status;
    if (!status.isOk()) {
      printError(status);
      continue;
    }
    if (turn.find_first_not_of(" \t\n") == std::string::npos)
      continue;
    if (turn[0] == '/') {
      if (!obey(turn))
        break;
      continue;
    }
    said.turns.push_back({ChatRole::User, std::move(turn), "", false});
    HONE_TRY(answer());
  }
  return Status::ok();
}

} // namespace hone::rt
