//===- Lexer.h - Words of PTX text ----------------------------------------===//

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::ptx {

/// A name (an opcode with all its parts, a register, a directive), a number, a
/// string without its quotes, or one character.
struct Token {
  enum Kind { Name, Number, String, Character, End } kind = End;
  std::string_view text;
  uint32_t line = 0;

  bool is(std::string_view what) const {
    return kind != String && text == what;
  }
};

/// All tokens, an End last. Comments are left out. False: `error` has the
/// problem and its line.
bool tokenize(std::string_view text, std::vector<Token> &tokens,
              std::string &error);

} // namespace hone::ptx
