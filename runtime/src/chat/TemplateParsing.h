//===- TemplateParsing.h - The parser's class -----------------------------===//
//
// Shared by its two halves, statements and expressions.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "chat/TemplateLexer.h"
#include "chat/TemplateNames.h"
#include "chat/TemplateParser.h"

#include <algorithm>
#include <map>

namespace hone::rt {

class TemplateParser {
public:
  using Token = TemplateToken;
  using Nodes = std::vector<uint32_t>;

  TemplateParser(std::vector<Token> tokens, std::string place)
      : tokens(std::move(tokens)), place(std::move(place)) {
    tree.nodes.emplace_back(); // 0 is no node
    intern("");
  }
  Result<TemplateTree> run();

private:
  // Tokens.
  const Token &now() const { return tokens[at]; }
  const Token &after() const {
    return tokens[std::min(at + 1, tokens.size() - 1)];
  }
  bool isName(const Token &token, std::string_view name) const {
    return token.kind == Token::Name && token.text == name;
  }
  bool isOperator(std::string_view name) const {
    return now().kind == Token::Operator && now().text == name;
  }
  void next() { at += at + 1 < tokens.size(); }
  bool takeName(std::string_view name);
  bool takeOperator(std::string_view name);
  void expectOperator(const char *name);
  std::string expectName(const char *what);
  void expectEnd(Token::Kind kind);
  std::string found() const;

  // Errors.
  bool ok() const { return firstError.isOk(); }
  uint32_t fail(const std::string &problem);
  /// Ends the parsing, since the rest cannot be read. At `line`, or at the
  /// token at hand.
  uint32_t refuse(const std::string &what, uint32_t line = 0);
  /// A node that fails when it is computed.
  uint32_t refuseLater(const std::string &what, uint32_t line);

  // Nodes.
  uint32_t intern(const std::string &text);
  uint32_t make(Syntax kind, uint32_t line, const Nodes &children,
                uint32_t text = 0, int64_t number = 0, uint8_t what = 0);
  SyntaxNode &node(uint32_t index) { return tree.nodes[index]; }

  // Statements.
  uint32_t block(std::initializer_list<std::string_view> ends);
  /// A block with a scope of its own. `becomesValue`: its text does not go
  /// straight to the output.
  uint32_t scopedBlock(const char *end, bool becomesValue);
  uint32_t statement();
  uint32_t ifStatement(uint32_t line);
  uint32_t forStatement(uint32_t line);
  uint32_t setStatement(uint32_t line);
  uint32_t macroStatement(uint32_t line);
  uint32_t filterStatement(uint32_t line);
  uint32_t withStatement(uint32_t line);
  uint32_t otherStatement(uint32_t line, const std::string &name);
  void targets(Nodes &out, bool mayBeField);
  void endBlock() { expectEnd(Token::BlockEnd); }

  // Expressions, loosest first.
  uint32_t expression(bool withCondition = true);
  uint32_t orExpression();
  uint32_t andExpression();
  uint32_t notExpression();
  uint32_t comparison();
  uint32_t sum();
  uint32_t concatenation();
  uint32_t product();
  uint32_t unary(bool withFilter = true);
  uint32_t primary();
  uint32_t parenthesis();
  uint32_t listLiteral();
  uint32_t dictLiteral();
  uint32_t tupleOrExpression();
  uint32_t postfix(uint32_t object);
  uint32_t attribute(uint32_t object);
  uint32_t subscript(uint32_t object);
  uint32_t call(uint32_t line, const std::string &name);
  uint32_t filters(uint32_t value);
  uint32_t filter(uint32_t value);
  uint32_t test(uint32_t value);
  uint32_t selection(uint32_t list, const std::string &name, uint32_t line);
  uint32_t mapping(uint32_t list, uint32_t line);
  void arguments(Nodes &positional, Nodes &keywords);
  /// False without an error: `refused` names the unsupported construct.
  bool bind(const char *kind, const TemplateSignature &signature,
            const Nodes &positional, const Nodes &keywords, Nodes &out,
            std::string &refused);
  bool constantString(uint32_t index, std::string &out);

  std::vector<Token> tokens;
  std::string place;
  size_t at = 0;
  unsigned depth = 0;
  unsigned loops = 0;  ///< that {% break %} may end here
  unsigned scopes = 0; ///< open ones, but for the template's
  bool inMacro = false;
  Nodes parameters; ///< of the macro at hand
  TemplateTree tree;
  std::map<std::string, uint32_t> textIds;
  Status firstError = Status::ok();
};

/// Counts a level of nesting while it lives.
class Level {
public:
  explicit Level(unsigned &depth) : depth(depth) { ++depth; }
  ~Level() { --depth; }

private:
  unsigned &depth;
};

} // namespace hone::rt
