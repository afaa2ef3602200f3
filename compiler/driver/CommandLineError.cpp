//===- CommandLineError.cpp - Errors of a command line --------------------===//

#include "compiler/driver/CommandLineError.h"

using namespace hone;
using llvm::StringRef;

/// The text between `before` and the next `after`.
static StringRef between(StringRef text, StringRef before, StringRef after) {
  const size_t begin = text.find(before);
  if (begin == StringRef::npos)
    return "";
  text = text.drop_front(begin + before.size());
  return text.take_front(text.find(after));
}

/// The kind of value that an option takes; LLVM names its type in `said`.
static std::string expectationOf(StringRef said) {
  if (said.contains("uint argument"))
    return "expects a whole number from 0 to " + std::to_string(UINT32_MAX) +
           " but got ";
  if (said.contains("ulong argument") || said.contains("ullong argument"))
    return "expects a whole number from 0 to " + std::to_string(UINT64_MAX) +
           " but got ";
  if (said.contains("int argument") || said.contains("long argument"))
    return "expects a whole number but got ";
  return "expects another value than ";
}

/// LLVM's complaint about an option that it knows, in our words.
static std::string problemOf(StringRef said) {
  if (said.starts_with("requires a value"))
    return "expects a value but got none";
  if (said.starts_with("must be specified"))
    return "is missing";
  if (said.starts_with("may only occur"))
    return "is given more than once";
  if (said.starts_with("does not allow a value"))
    return "takes no value but got '" + between(said, "'", "'").str() + "'";
  if (said.starts_with("Cannot find option named"))
    return "has no value '" + between(said, "'", "'!").str() + "'";
  if (size_t at = said.find("' value invalid for "); at != StringRef::npos)
    return expectationOf(said.substr(at)) + said.take_front(at + 1).str();
  return said.rtrim("!\n").str();
}

Status hone::commandLineError(StringRef command, StringRef usage,
                              StringRef said) {
  const StringRef program = command.split(' ').first;
  said = said.trim();
  said.consume_front((program + ": ").str());
  const std::string help = "see " + command.str() + " --help";
  const std::string near = between(said, "Did you mean '", "'?").str();
  const std::string remedy = near.empty() ? help : "did you mean " + near + "?";
  auto error = [](const std::string &place, const std::string &problem,
                  const std::string &remedy) {
    return Status(ErrorCode::WrongOption, place, problem, remedy);
  };
  if (said.starts_with("Unknown command line argument")) {
    const std::string given = between(said, "'", "'.  Try").str();
    return StringRef(given).starts_with("-")
               ? error(given, "there is no such option", remedy)
               : error(command.str(),
                       "'" + given + "' is one argument too many",
                       "write " + usage.str());
  }
  if (said.starts_with("Unknown subcommand"))
    return error(between(said, "'", "'.  Try").str(),
                 "there is no such command", remedy);
  if (said.starts_with("Not enough positional"))
    return error(command.str(), "expects more arguments",
                 "write " + usage.str());
  if (said.starts_with("Too many positional"))
    return error(command.str(), "got more arguments than it takes",
                 "write " + usage.str());
  if (const StringRef option = between(said, "for the ", " option: ");
      !option.empty())
    return error(option.str(),
                 problemOf(said.split(" option: ").second.split('\n').first),
                 help);
  return error(command.str(), said.str(), help);
}

Status hone::checkEmptyArguments(const std::string &command,
                                 const std::vector<std::string> &arguments,
                                 bool passesOn) {
  const auto isOption = [](StringRef text) {
    return text.size() > 1 && text.starts_with("-");
  };
  // The command itself is no argument of it.
  const size_t first = command.find(' ') != std::string::npos ? 1 : 0;
  for (size_t i = first; i < arguments.size(); ++i) {
    const StringRef argument = arguments[i];
    std::string place;
    if (argument == "--")
      break;
    if (argument.empty())
      place =
          i > first && isOption(arguments[i - 1]) ? arguments[i - 1] : command;
    else if (isOption(argument) && argument.find('=') == argument.size() - 1)
      place = argument.drop_back().str();
    else if (passesOn && !isOption(argument))
      break;
    if (!place.empty())
      return Status(ErrorCode::WrongOption, place,
                    "expects a value but got an empty text",
                    "give one, or leave it out; a variable of the shell may "
                    "be empty");
  }
  return Status::ok();
}
