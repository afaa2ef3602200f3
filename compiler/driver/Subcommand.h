//===- Subcommand.h - A command of a tool and its options -----------------===//

#pragma once

#include "llvm/Support/CommandLine.h"

namespace hone {

/// A command, as `merge` of `hone merge`. Its options are members that begin
/// with `*this`: no other command has them, and its help shows them alone.
class Subcommand {
public:
  Subcommand(const char *name, const char *help)
      : command(name, help), category(name) {}

  /// Whether it was given; known after parsing.
  explicit operator bool() const { return bool(command); }

  /// Before parsing: help shows only the own options of the command that
  /// argv[1] names.
  void showOwnHelp(int argc, char **argv) {
    if (argc > 1 && llvm::StringRef(argv[1]) == command.getName())
      llvm::cl::HideUnrelatedOptions(category, command);
  }

  template <typename Base> struct Own : Base {
    template <typename... Modifiers>
    explicit Own(Subcommand &of, const Modifiers &...modifiers)
        : Base(modifiers..., llvm::cl::sub(of.command),
               llvm::cl::cat(of.category)) {}
  };
  template <typename Value> using Opt = Own<llvm::cl::opt<Value>>;
  template <typename Value> using List = Own<llvm::cl::list<Value>>;

private:
  llvm::cl::SubCommand command;
  llvm::cl::OptionCategory category;
};

} // namespace hone
