//===- Parser.cpp - PTX text to a program ---------------------------------===//

#include "Parser.h"

#include "Decoder.h"
#include "Lexer.h"

#include <cstdlib>
#include <cstring>

namespace hone::ptx {
namespace {

/// Bytes of `.u32` and its like, 0 for `.pred`; kNone: no type.
uint32_t bytesOfType(std::string_view type) {
  if (type == ".pred")
    return 0;
  if (type.size() < 3 || type[0] != '.' || !strchr("busf", type[1]))
    return kNone;
  const std::string_view bits = type.substr(2);
  return bits == "8"    ? 1
         : bits == "16" ? 2
         : bits == "32" ? 4
         : bits == "64" ? 8
                        : kNone;
}

uint64_t roundUp(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

class Parser {
public:
  Parser(const std::vector<Token> &tokens, const PlaceGlobal &placeGlobal,
         Module &module, std::string &error)
      : tokens(tokens), placeGlobal(placeGlobal), module(module), error(error) {
  }

  bool parse();

private:
  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(at + ahead, tokens.size() - 1)];
  }
  const Token &take() {
    const Token &token = peek();
    if (at + 1 < tokens.size())
      ++at;
    return token;
  }
  bool accept(std::string_view text) {
    if (!peek().is(text))
      return false;
    take();
    return true;
  }
  bool fail(uint32_t line, const std::string &what) {
    if (error.empty())
      error = "line " + std::to_string(line) + ": " + what;
    return false;
  }
  bool expect(std::string_view text) {
    if (accept(text))
      return true;
    return fail(peek().line, "expected `" + std::string(text) + "`, found `" +
                                 std::string(peek().text) + "`");
  }
  bool number(uint64_t &value);
  void skipLine(uint32_t line) {
    while (peek().kind != Token::End && peek().line == line)
      take();
  }

  bool parseVariable(KernelBuilder *builder, Kernel *kernel, bool isExternal);
  bool parseEntry();
  bool parseParameter(Kernel &kernel);
  bool parseBody(KernelBuilder &builder, Kernel &kernel);
  bool parseRegisters(KernelBuilder &builder);
  bool parseStatement(KernelBuilder &builder);
  bool parseOperand(Operand &operand);

  const std::vector<Token> &tokens;
  size_t at = 0;
  const PlaceGlobal &placeGlobal;
  Module &module;
  std::string &error;
  std::map<std::string, Variable> moduleVariables;
  std::map<std::string, std::string> files;
  uint32_t moduleShared = 0;
  /// Names of shared memory whose size a launch gives.
  std::vector<std::string> dynamicShared;
  uint32_t location = 0;
};

bool parseInteger(std::string_view text, uint64_t &value) {
  std::string digits(text);
  if (!digits.empty() && digits.back() == 'U')
    digits.pop_back();
  char *end = nullptr;
  value = strtoull(digits.c_str(), &end, 0);
  return !digits.empty() && *end == 0;
}

bool Parser::number(uint64_t &value) {
  const Token &token = take();
  const bool negative = token.is("-");
  const Token &digits = negative ? take() : token;
  if (digits.kind != Token::Number || !parseInteger(digits.text, value))
    return fail(digits.line,
                "expected a number, found `" + std::string(digits.text) + "`");
  if (negative)
    value = 0 - value;
  return true;
}

bool Parser::parse() {
  module.locations.push_back("");
  // Names of files may follow the references to them.
  for (size_t i = 0; i + 2 < tokens.size(); ++i)
    if (tokens[i].is(".file") && tokens[i + 2].kind == Token::String)
      files[std::string(tokens[i + 1].text)] = std::string(tokens[i + 2].text);
  while (peek().kind != Token::End) {
    const Token &token = peek();
    if (accept(".version")) {
      const std::string text(take().text);
      const size_t dot = text.find('.');
      module.version =
          unsigned(10 * atoi(text.c_str()) +
                   (dot == std::string::npos ? 0 : atoi(&text[dot + 1])));
    } else if (accept(".target")) {
      module.target = std::string(take().text);
      skipLine(token.line);
    } else if (accept(".address_size")) {
      if (!take().is("64"))
        return fail(token.line, "addresses have 64 bits");
    } else if (token.is(".file")) {
      skipLine(token.line);
    } else if (accept(".section")) {
      while (!peek().is("{") && peek().kind != Token::End)
        take();
      while (!peek().is("}") && peek().kind != Token::End)
        take();
      take();
    } else if (token.is(".visible") || token.is(".weak") ||
               token.is(".common") || token.is(".extern")) {
      take();
      const bool isExternal = token.is(".extern");
      if (peek().is(".func"))
        return fail(token.line, "functions are not called here: all code of a "
                                "kernel must be inside of it");
      if (peek().is(".entry")) {
        if (!parseEntry())
          return false;
      } else if (!parseVariable(nullptr, nullptr, isExternal)) {
        return false;
      }
    } else if (token.is(".entry")) {
      if (!parseEntry())
        return false;
    } else if (token.is(".func")) {
      return fail(token.line, "functions are not called here: all code of a "
                              "kernel must be inside of it");
    } else if (token.is(".shared") || token.is(".global") ||
               token.is(".const")) {
      if (!parseVariable(nullptr, nullptr, false))
        return false;
    } else {
      return fail(token.line, "`" + std::string(token.text) +
                                  "` does not begin anything of a module");
    }
  }
  if (module.version == 0)
    return fail(1, "there is no .version");
  return true;
}

/// `.shared .align 4 .b8 name[16];`, of the module or of a kernel.
bool Parser::parseVariable(KernelBuilder *builder, Kernel *kernel,
                           bool isExternal) {
  const Token &space = take();
  uint64_t alignment = 0, bytes = 0, count = 1;
  if (accept(".align") && !number(alignment))
    return false;
  uint64_t elements = 1;
  if (accept(".v2"))
    elements = 2;
  else if (accept(".v4"))
    elements = 4;
  const Token &type = take();
  const uint32_t element = bytesOfType(type.text);
  if (element == kNone || element == 0)
    return fail(type.line,
                "`" + std::string(type.text) + "` is no type of a variable");
  const std::string name(take().text);
  bool isOpen = false;
  while (accept("[")) {
    uint64_t length = 0;
    isOpen |= peek().is("]");
    if (!isOpen && !number(length))
      return false;
    count *= length;
    if (!expect("]"))
      return false;
  }
  bytes = element * elements * count;
  alignment = std::max<uint64_t>(alignment, element * elements);
  std::vector<char> initial;
  if (accept("=")) {
    const bool list = accept("{");
    do {
      uint64_t value = 0;
      const std::string_view text = peek().text;
      if (text.size() > 2 && text[0] == '0' && strchr("fFdD", text[1])) {
        value = strtoull(std::string(text.substr(2)).c_str(), nullptr, 16);
        take();
      } else if (!number(value)) {
        return false;
      }
      const char *begin = reinterpret_cast<const char *>(&value);
      initial.insert(initial.end(), begin, begin + element);
    } while (list && accept(","));
    if (list && !expect("}"))
      return false;
  }
  if (!expect(";"))
    return false;

  Variable variable;
  variable.bytes = bytes;
  if (space.is(".shared")) {
    uint32_t &end = kernel ? kernel->sharedBytes : moduleShared;
    variable.space = Space::Shared;
    if (isExternal || isOpen) {
      // Its place follows all static ones: each kernel sets it.
      dynamicShared.push_back(name);
      return true;
    }
    variable.address = roundUp(end, alignment);
    end = uint32_t(variable.address + bytes);
  } else if (space.is(".local") && kernel) {
    variable.space = Space::Local;
    variable.address = roundUp(kernel->localBytes, alignment);
    kernel->localBytes = uint32_t(variable.address + bytes);
  } else if ((space.is(".global") || space.is(".const")) && !isExternal) {
    initial.resize(bytes);
    variable.address = placeGlobal(bytes, alignment, initial);
    if (variable.address == 0)
      return fail(space.line, "no device memory is left for `" + name + "`");
    module.globals[name] = variable.address;
    module.allocations.push_back(variable.address);
    moduleVariables[name] = variable;
    return true;
  } else {
    return fail(space.line,
                "`" + std::string(space.text) + "` has no place here");
  }
  if (builder)
    builder->declareVariable(name, variable);
  else
    moduleVariables[name] = variable;
  return true;
}

bool Parser::parseParameter(Kernel &kernel) {
  if (!expect(".param"))
    return false;
  Parameter parameter;
  uint64_t alignment = 0, length = 1;
  if (accept(".align") && !number(alignment))
    return false;
  const Token &type = take();
  const uint32_t bytes = bytesOfType(type.text);
  if (bytes == kNone || bytes == 0)
    return fail(type.line,
                "`" + std::string(type.text) + "` is no type of a parameter");
  if (accept(".ptr")) {
    for (std::string_view space :
         {".global", ".shared", ".const", ".local", ".generic"})
      accept(space);
    uint64_t pointee = 0;
    if (accept(".align") && !number(pointee))
      return false;
  }
  parameter.name = std::string(take().text);
  if (accept("[") && (!number(length) || !expect("]")))
    return false;
  parameter.bytes = uint32_t(bytes * length);
  parameter.alignment = uint32_t(std::max<uint64_t>(alignment, bytes));
  parameter.offset =
      uint32_t(roundUp(kernel.parameterBytes, parameter.alignment));
  kernel.parameterBytes = parameter.offset + parameter.bytes;
  kernel.parameters.push_back(parameter);
  return true;
}

bool Parser::parseEntry() {
  const uint32_t line = take().line;
  module.kernels.emplace_back();
  Kernel &kernel = module.kernels.back();
  kernel.line = line;
  kernel.name = std::string(take().text);
  kernel.sharedBytes = moduleShared;
  location = 0;
  if (accept("(")) {
    while (!accept(")")) {
      if (!parseParameter(kernel))
        return false;
      accept(",");
    }
  }
  while (!peek().is("{")) {
    const Token &directive = take();
    if (directive.is(".maxntid") || directive.is(".reqntid")) {
      kernel.requiresThreads = directive.is(".reqntid");
      unsigned i = 0;
      kernel.maxThreads = {1, 1, 1};
      do {
        uint64_t value = 0;
        if (!number(value) || i > 2)
          return false;
        kernel.maxThreads[i++] = uint32_t(value);
      } while (accept(","));
    } else if (directive.is(".minnctapersm") || directive.is(".maxnreg")) {
      uint64_t value = 0;
      if (!number(value))
        return false;
    } else {
      return fail(directive.line, "`" + std::string(directive.text) +
                                      "` is no directive of a kernel");
    }
  }
  KernelBuilder builder(module, kernel);
  for (const auto &[name, variable] : moduleVariables)
    builder.declareVariable(name, variable);
  for (const Parameter &parameter : kernel.parameters)
    builder.declareVariable(parameter.name,
                            {Space::Param, parameter.offset, parameter.bytes});
  // Where dynamic memory begins is known once all static memory is: LLVM
  // declares that at the beginning of a body, so it is read ahead.
  const size_t body = at;
  size_t depth = 0;
  for (size_t i = at; i < tokens.size(); ++i) {
    depth += tokens[i].is("{");
    depth -= tokens[i].is("}");
    if (depth == 0)
      break;
    if (tokens[i].is(".shared")) {
      at = i;
      if (!parseVariable(&builder, &kernel, false))
        return false;
    }
  }
  at = body;
  const uint64_t dynamic = roundUp(kernel.sharedBytes, 16);
  if (!dynamicShared.empty())
    kernel.sharedBytes = uint32_t(dynamic);
  for (const std::string &name : dynamicShared)
    builder.declareVariable(name, {Space::Shared, dynamic, 0});
  return parseBody(builder, kernel);
}

bool Parser::parseRegisters(KernelBuilder &builder) {
  const Token &type = take();
  const uint32_t width = bytesOfType(type.text);
  if (width == kNone)
    return fail(type.line,
                "`" + std::string(type.text) + "` is no type of a register");
  do {
    const Token &name = take();
    uint64_t count = 0;
    // Registers of 8 bits do not exist; a declared one has 16.
    const unsigned bytes = width == 1 ? 2 : width;
    if (accept("<")) {
      if (!number(count) || !expect(">"))
        return false;
      if (count > 1'000'000)
        return fail(name.line, "too many registers");
      for (uint64_t i = 0; i < count; ++i)
        builder.declareRegister(std::string(name.text) + std::to_string(i),
                                bytes);
    } else if (!builder.declareRegister(std::string(name.text), bytes)) {
      return fail(name.line,
                  "`" + std::string(name.text) + "` is declared twice");
    }
  } while (accept(","));
  return expect(";");
}

bool Parser::parseBody(KernelBuilder &builder, Kernel &kernel) {
  const uint32_t line = peek().line;
  unsigned depth = 0;
  do {
    const Token &token = peek();
    if (token.kind == Token::End)
      return fail(line, "the body of `" + kernel.name + "` has no end");
    if (accept("{")) {
      ++depth;
      builder.pushScope();
    } else if (accept("}")) {
      --depth;
      builder.popScope();
    } else if (accept(";")) {
    } else if (accept(".reg")) {
      if (!parseRegisters(builder))
        return false;
    } else if (token.is(".shared")) { // read ahead of the body
      while (!peek().is(";") && peek().kind != Token::End)
        take();
    } else if (token.is(".local") || token.is(".global") ||
               token.is(".const")) {
      if (!parseVariable(&builder, &kernel, false))
        return false;
    } else if (token.is(".file")) {
      skipLine(token.line);
    } else if (accept(".loc")) {
      const std::string file(take().text), row(take().text);
      module.locations.push_back(files[file] + ":" + row);
      location = uint32_t(module.locations.size() - 1);
      skipLine(token.line);
    } else if (accept(".pragma")) {
      take();
      if (!expect(";"))
        return false;
    } else if (token.kind == Token::Name && peek(1).is(":")) {
      if (!builder.label(std::string(token.text)))
        return fail(token.line,
                    "label `" + std::string(token.text) + "` stands twice");
      take();
      take();
    } else if (!parseStatement(builder)) {
      return false;
    }
  } while (depth > 0);
  if (builder.finish())
    return true;
  error = builder.error();
  return false;
}

bool Parser::parseOperand(Operand &operand) {
  const Token &token = peek();
  if (accept("{")) {
    operand.kind = Operand::Vector;
    do {
      operand.parts.emplace_back();
      if (!parseOperand(operand.parts.back()))
        return false;
    } while (accept(","));
    return expect("}");
  }
  if (accept("[")) {
    operand.kind = Operand::Address;
    if (peek().kind == Token::Name)
      operand.name = take().text;
    while (!peek().is("]")) {
      accept("+");
      uint64_t value = 0;
      if (!number(value))
        return false;
      operand.bits += value;
    }
    return expect("]");
  }
  if (accept("!"))
    operand.negated = true;
  if (peek().is("_")) {
    take();
    operand.kind = Operand::Sink;
    return true;
  }
  if (peek().kind == Token::Name) {
    operand.kind = Operand::Name;
    operand.name = take().text;
    if (accept("|"))
      operand.also = take().text;
    while (peek().is("+") || peek().is("-")) { // variable + offset
      uint64_t value = 0;
      accept("+");
      if (!number(value))
        return false;
      operand.bits += value;
    }
    return true;
  }
  const std::string_view text = peek().text;
  if (text.size() > 2 && text[0] == '0' && strchr("fFdD", text[1])) {
    operand.kind = Operand::Float;
    operand.width = text[1] == 'f' || text[1] == 'F' ? 4 : 8;
    const std::string digits(text.substr(2));
    if (digits.size() != 2 * operand.width)
      return fail(token.line, "`" + std::string(text) + "` has " +
                                  std::to_string(digits.size()) +
                                  " digits in place of " +
                                  std::to_string(2 * operand.width));
    operand.bits = strtoull(digits.c_str(), nullptr, 16);
    take();
    return true;
  }
  operand.kind = Operand::Integer;
  return number(operand.bits);
}

bool Parser::parseStatement(KernelBuilder &builder) {
  Statement statement;
  statement.line = peek().line;
  if (accept("@")) {
    statement.guardNegated = accept("!");
    statement.guard = take().text;
  }
  const Token &opcode = take();
  if (opcode.kind != Token::Name || opcode.text[0] == '.')
    return fail(opcode.line,
                "`" + std::string(opcode.text) + "` is no instruction");
  statement.opcode = opcode.text;
  while (!accept(";")) {
    statement.operands.emplace_back();
    if (!parseOperand(statement.operands.back()))
      return false;
    if (!peek().is(";") && !expect(","))
      return false;
  }
  if (builder.add(statement, location))
    return true;
  error = builder.error();
  return false;
}

} // namespace

bool parse(std::string_view text, const PlaceGlobal &placeGlobal,
           Module &module, std::string &error) {
  std::vector<Token> tokens;
  if (!tokenize(text, tokens, error))
    return false;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    module.lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return Parser(tokens, placeGlobal, module, error).parse();
}

} // namespace hone::ptx
