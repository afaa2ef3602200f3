//===- Completion.cpp - The command line, completed by a shell ------------===//

#include "compiler/hone/Completion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"

#include <map>
#include <vector>

using llvm::StringRef;
namespace cl = llvm::cl;

std::string hone::bashCompletion() {
  std::map<std::string, std::vector<std::string>> optionsOf;
  for (cl::SubCommand *command : cl::getRegisteredSubcommands()) {
    if (command->getName().empty())
      continue;
    std::vector<std::string> &options = optionsOf[command->getName().str()];
    for (auto [name, option] : cl::getRegisteredOptions(*command))
      if (!name.empty() && option->getOptionHiddenFlag() == cl::NotHidden)
        options.push_back((name.size() == 1 ? "-" : "--") + name.str());
    llvm::sort(options);
  }
  std::string names, cases;
  for (const auto &[name, options] : optionsOf) {
    names += (names.empty() ? "" : " ") + name;
    cases +=
        "    " + name + ") options=\"" + llvm::join(options, " ") + "\" ;;\n";
  }
  return "# Completes hone in bash: source it, or put it where\n"
         "# bash-completion looks.\n"
         "_hone() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} options=\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"" +
         names +
         " --help --version\" -- \"$word\")\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  case $word in\n"
         "    -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- "
         "\"$word\") ;;\n"
         "    *) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
         "  esac\n"
         "}\n"
         "complete -o filenames -F _hone hone\n";
}
