//===- GenerateOptions.cpp - The command line of a program that generates -===//

#include "program/GenerateOptions.h"

#include "program/Arguments.h"
#include "program/Options.h"

#include <algorithm>
#include <functional>

namespace hone::rt {

bool AnyText::parse(const std::string &text) {
  assign(text);
  return true;
}

static Status disagree(const std::string &option, const std::string &problem,
                       const std::string &remedy) {
  return Status(ErrorCode::OptionsDisagree, option, problem, remedy);
}

using Given = std::function<bool(const char *)>;

static Status checkCombination(const GenerateOptions &options,
                               const Given &isGiven) {
  const int prompts = isGiven("prompt") + isGiven("prompt-file") +
                      isGiven("prompt-ids") + isGiven("messages");
  if (prompts == 0 && !options.chat)
    return Status(ErrorCode::MissingOption, "command line",
                  "expects a prompt but got none",
                  "add --prompt TEXT, or --chat for a conversation; "
                  "--help lists the options");
  if (prompts > 1)
    return disagree(
        "--prompt", "there are two prompts",
        "give one of --prompt, --prompt-file, --prompt-ids and --messages");
  if (options.chat && isGiven("prompt-ids"))
    return disagree("--chat", "a chat template takes text, not ids",
                    "leave --chat out, or give --prompt");
  const bool usesTemplate = options.chat || isGiven("messages");
  for (const char *name : {"system", "chat-date"})
    if (isGiven(name) && !usesTemplate)
      return disagree(std::string("--") + name,
                      "only --chat and --messages read it",
                      std::string("add --chat, or leave --") + name + " out");
  if (options.isConversation() && options.messages == "-")
    return disagree("--messages", "standard input has the turns of --chat",
                    "give a file, or leave --chat out");
  if (options.compare && !isGiven("adapter"))
    return disagree("--compare", "there is no adapter to compare with",
                    "give --adapter DIR, or leave it out");
  if (isGiven("special-tokens") && (usesTemplate || isGiven("prompt-ids")))
    return disagree("--special-tokens",
                    "only a text without a chat template is read for them",
                    "leave it out");
  for (const char *name : {"top-k", "top-p", "min-p", "seed"})
    if (isGiven(name) && options.temperature == 0)
      return disagree(
          std::string("--") + name, "nothing is drawn at temperature 0",
          std::string("give a --temperature, or leave --") + name + " out");
  if (options.showIds && isGiven("stop"))
    return disagree("--stop",
                    "--show-ids writes no text in which it could be found",
                    "leave one of the two out");
  return checkChatDate(options.chatDate);
}

Result<GenerateOptions>
GenerateOptions::parse(const std::vector<std::string> &arguments) {
  GenerateOptions options;
  std::vector<std::string> given;
  const Options ofTraining; // whose compiled settings are this program's, too
  HONE_TRY(readArguments(
      arguments, options.members(), ofTraining.compiledIn(),
      [](const Setting &) { return Status::ok(); }, given));
  const Given isGiven = [&](const char *name) {
    return std::find(given.begin(), given.end(), name) != given.end();
  };
  options.isPrompted = isGiven("prompt") || isGiven("prompt-file");
  if (!options.help && !options.version && !options.plan)
    HONE_TRY(checkCombination(options, isGiven));
  if (options.isConversation() && !isGiven("max-new-tokens"))
    options.maxNewTokens = MostTokens;
  return options;
}

std::string GenerateOptions::usage() {
  GenerateOptions options;
  std::vector<HelpRow> rows;
  for (const Setting *setting : options.members())
    rows.push_back(helpRow(*setting));
  return "usage: generate --prompt TEXT [options]\n"
         "       generate --chat [options]\n\n"
         "options:\n" +
         helpTable(rows) +
         "\nIn a conversation, /help lists the commands. The text goes to "
         "standard output,\neverything else to standard error.\n" +
         exitCodeHelp({
             {"0", "done"},
             {"2", "wrong command line"},
             {"3", "done, with more memory than was planned"},
             {"65", "bad data"},
             {"66", "no such file"},
             {"70", "a bug"},
             {"71", "no memory or no thread"},
             {"74", "cannot read or write"},
             {"130", "stopped by SIGINT"},
             {"143", "stopped by SIGTERM"},
         });
}

} // namespace hone::rt
