//===- Arguments.cpp - A command line read into settings ------------------===//

#include "program/Arguments.h"

#include "base/NearestName.h"
#include "base/Wording.h"
#include "chat/TemplateText.h"

#include <algorithm>

namespace hone::rt {

static Status unknownOption(const std::vector<Setting *> &settings,
                            const std::vector<const Setting *> &compiledIn,
                            const std::string &argument,
                            const std::string &name) {
  for (const Setting *setting : compiledIn)
    if (name == setting->option())
      return Status(ErrorCode::WrongOption, argument,
                    "is no option, since " + setting->key() + " is compiled in",
                    "set " + setting->key() + " in the spec and compile again");
  std::vector<std::string> names;
  for (const Setting *setting : settings)
    names.push_back(setting->option());
  std::string near = nearestName(name, names);
  return Status(ErrorCode::WrongOption, argument, "there is no such option",
                near.empty() ? "--help lists the options"
                             : "did you mean --" + near + "?");
}

Status readArguments(const std::vector<std::string> &arguments,
                     const std::vector<Setting *> &settings,
                     const std::vector<const Setting *> &compiledIn,
                     const std::function<Status(const Setting &)> &check,
                     std::vector<std::string> &given) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i] == "-h" ? "--help" : arguments[i];
    if (argument.compare(0, 2, "--") != 0)
      return Status(ErrorCode::WrongOption, "'" + argument + "'",
                    "expects an option, which starts with --",
                    "--help lists the options");
    size_t equals = argument.find('=');
    bool attached = equals != std::string::npos;
    std::string name = argument.substr(2, attached ? equals - 2 : equals);
    Setting *found = nullptr;
    for (Setting *setting : settings)
      if (name == setting->option())
        found = setting;
    if (!found)
      return unknownOption(settings, compiledIn, argument, name);
    HONE_TRY(check(*found));
    if (!found->repeats() &&
        std::find(given.begin(), given.end(), name) != given.end())
      return Status(ErrorCode::WrongOption, "--" + name,
                    "is given more than once",
                    "keep one of them; none overrides another");
    if (found->setBy == SetBy::Flag) {
      if (attached)
        return Status(ErrorCode::WrongOption, argument,
                      "the option takes no argument", "write --" + name);
      found->parse("true");
      given.push_back(name);
      continue;
    }
    std::string usage = "--" + name + " " + found->argument();
    if (!attached && i + 1 == arguments.size())
      return Status(ErrorCode::WrongOption, "--" + name,
                    "expects an argument but got none", "write " + usage);
    std::string value = attached ? argument.substr(equals + 1) : arguments[++i];
    if (!found->parse(value))
      return Status(ErrorCode::WrongOption, "--" + name,
                    "expects " + found->expectedNot(value) + " but got '" +
                        value + "'",
                    "write " + usage);
    given.push_back(name);
  }
  return Status::ok();
}

Status checkChatDate(const std::string &date) {
  TemplateDate day;
  if (date.empty() || parseDate(date, day))
    return Status::ok();
  return Status(ErrorCode::WrongOption, "--chat-date",
                "expects a day as YYYY-MM-DD but got '" + date + "'",
                "write --chat-date 2025-03-07");
}

HelpRow helpRow(const Setting &setting) {
  // Before the columns are known: other words are of another width.
  const Wording words = Wording::given();
  if (setting.setBy == SetBy::Flag)
    return {words.apply(setting.spelling()), words.apply(setting.help)};
  const std::string value = setting.text();
  return {words.apply(setting.spelling() + " " + setting.argument()),
          words.apply(setting.help) +
              (value.empty() ? "" : " [" + value + "]")};
}

std::string exitCodeHelp(const std::vector<HelpRow> &codes) {
  return "\nexit codes:\n" + helpTable(codes) +
         "\nhonec --explain CODE says what an error[CODE] means.\n";
}

} // namespace hone::rt
