//===- Arguments.h - A command line read into settings --------------------===//

#pragma once

#include "base/HelpText.h"
#include "base/Status.h"
#include "module/Setting.h"

#include <functional>
#include <string>
#include <vector>

namespace hone::rt {

/// Reads `arguments` (without the program's name) into `settings`, one of which
/// is called help, which -h sets; each is given once at most, unless it
/// repeats. `check` may refuse one that is given, and `given`, empty before,
/// becomes the names of those that are. Of `compiledIn` an error says that they
/// are no options. Errors: WrongOption, those of `check`.
Status readArguments(const std::vector<std::string> &arguments,
                     const std::vector<Setting *> &settings,
                     const std::vector<const Setting *> &compiledIn,
                     const std::function<Status(const Setting &)> &check,
                     std::vector<std::string> &given);

/// Checks a --chat-date, which may be empty. Errors: WrongOption.
Status checkChatDate(const std::string &date);

/// A row of --help: the option, its help and its value in brackets.
HelpRow helpRow(const Setting &setting);

/// The end of a program's help: the meanings of its exit codes.
std::string exitCodeHelp(const std::vector<HelpRow> &codes);

} // namespace hone::rt
