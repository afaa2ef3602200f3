//===- TemplateStatements.cpp - Blocks of a chat template -----------------===//
//
// Errors are sticky: after the first, tokens are no longer read, so no loop
// goes on.
//
//===----------------------------------------------------------------------===//

#include "chat/TemplateParsing.h"

namespace hone::rt {

using Token = TemplateParser::Token;
using Nodes = TemplateParser::Nodes;

//===----------------------------------------------------------------------===//
// Tokens, errors, nodes
//===----------------------------------------------------------------------===//

uint32_t TemplateParser::fail(const std::string &problem) {
  if (ok())
    firstError = Status(
        ErrorCode::BadChatTemplate, place + ":" + std::to_string(now().line),
        problem, "download the template again from the place of the model");
  at = tokens.size() - 1;
  return 0;
}

uint32_t TemplateParser::refuse(const std::string &what, uint32_t line) {
  if (ok())
    firstError = Status(
        ErrorCode::UnsupportedChatTemplate,
        place + ":" + std::to_string(line ? line : now().line),
        what + " is not in the subset of Jinja that chat templates may use "
               "here",
        "rewrite the template without it, or remove it to train on data "
        "without conversations");
  at = tokens.size() - 1;
  return 0;
}

uint32_t TemplateParser::refuseLater(const std::string &what, uint32_t line) {
  return make(Syntax::Refused, line, {}, intern(what));
}

std::string TemplateParser::found() const {
  switch (now().kind) {
  case Token::End:
    return "the end of the template";
  case Token::BlockEnd:
    return "'%}'";
  case Token::OutputEnd:
    return "'}}'";
  case Token::String:
    return "a string";
  case Token::Integer:
  case Token::Float:
    return "a number";
  default:
    return "'" + now().text + "'";
  }
}

bool TemplateParser::takeName(std::string_view name) {
  if (!isName(now(), name))
    return false;
  next();
  return true;
}

bool TemplateParser::takeOperator(std::string_view name) {
  if (!isOperator(name))
    return false;
  next();
  return true;
}

void TemplateParser::expectOperator(const char *name) {
  if (!takeOperator(name))
    fail(std::string("expected '") + name + "' but found " + found());
}

std::string TemplateParser::expectName(const char *what) {
  if (now().kind != Token::Name) {
    fail(std::string("expected ") + what + " but found " + found());
    return "";
  }
  std::string name = now().text;
  next();
  return name;
}

void TemplateParser::expectEnd(Token::Kind kind) {
  if (now().kind == kind)
    next();
  else
    fail(std::string("expected ") +
         (kind == Token::BlockEnd ? "'%}'" : "'}}'") + " but found " + found());
}

uint32_t TemplateParser::intern(const std::string &text) {
  const auto [known, isNew] =
      textIds.emplace(text, uint32_t(tree.texts.size()));
  if (isNew)
    tree.texts.push_back(text);
  return known->second;
}

uint32_t TemplateParser::make(Syntax kind, uint32_t line, const Nodes &children,
                              uint32_t text, int64_t number, uint8_t what) {
  if (!ok())
    return 0;
  SyntaxNode made;
  made.kind = kind;
  made.what = what;
  made.line = line;
  made.text = text;
  made.number = number;
  made.first = uint32_t(tree.children.size());
  made.count = uint32_t(children.size());
  for (uint32_t child : children)
    made.depth = std::max<uint16_t>(made.depth, tree.nodes[child].depth + 1);
  if (made.depth > DeepestTemplate)
    return refuse("nesting, or a sum of terms, of more than " +
                  std::to_string(DeepestTemplate) + " levels");
  tree.children.insert(tree.children.end(), children.begin(), children.end());
  tree.nodes.push_back(made);
  return uint32_t(tree.nodes.size() - 1);
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

Result<TemplateTree> TemplateParser::run() {
  tree.root = block({});
  if (ok() && now().kind != Token::End)
    fail("found an end of a block that was not begun");
  if (!ok())
    return firstError;
  return std::move(tree);
}

/// Statements up to one of `ends`, whose name is then the token at hand, or to
/// the end of the template if there is none to wait for.
uint32_t TemplateParser::block(std::initializer_list<std::string_view> ends) {
  Level level(depth);
  if (depth > DeepestTemplate / 4)
    return refuse("blocks in one another of more than " +
                  std::to_string(DeepestTemplate / 4) + " levels");
  const uint32_t line = now().line;
  Nodes statements;
  while (ok()) {
    if (now().kind == Token::End) {
      if (ends.size() != 0)
        return fail("expected {% " + std::string(*(ends.end() - 1)) +
                    " %} but found the end of the template");
      break;
    }
    if (now().kind == Token::Text) {
      statements.push_back(
          make(Syntax::Text, now().line, {}, intern(now().text)));
      next();
      continue;
    }
    if (now().kind == Token::OutputBegin) {
      next();
      const uint32_t start = now().line;
      const uint32_t value = tupleOrExpression();
      statements.push_back(make(Syntax::Output, start, {value}));
      expectEnd(Token::OutputEnd);
      continue;
    }
    next(); // the beginning of a block's tag
    if (std::find(ends.begin(), ends.end(), now().text) != ends.end() &&
        now().kind == Token::Name)
      break;
    if (uint32_t made = statement())
      statements.push_back(made);
  }
  return make(Syntax::Block, line, statements);
}

uint32_t TemplateParser::scopedBlock(const char *end, bool becomesValue) {
  const unsigned outerLoops = loops;
  if (becomesValue)
    loops = 0; // Jinja cannot leave it, or loses its text
  ++scopes;
  const uint32_t body = block({end});
  --scopes;
  loops = outerLoops;
  next();
  endBlock();
  return body;
}

/// At the first word of a tag.
uint32_t TemplateParser::statement() {
  const uint32_t line = now().line;
  if (now().kind != Token::Name)
    return fail("expected the name of a statement but found " + found());
  const std::string name = now().text;
  if (name == "if" || name == "for" || name == "set" || name == "macro") {
    next();
    return name == "if"    ? ifStatement(line)
           : name == "for" ? forStatement(line)
           : name == "set" ? setStatement(line)
                           : macroStatement(line);
  }
  if (name == "break" || name == "continue") {
    if (loops == 0 && scopes == 0)
      return fail("found {% " + name + " %} outside of a loop");
    next();
    endBlock();
    if (loops == 0)
      return refuseLater("{% " + name + " %} out of a block", line);
    return make(name == "break" ? Syntax::Break : Syntax::Continue, line, {});
  }
  if (name == "generation") {
    // Transformers' mark of an assistant's text: it renders as its body.
    next();
    endBlock();
    const uint32_t body = scopedBlock("endgeneration", true);
    return make(Syntax::Generation, line, {body});
  }
  if (name.compare(0, 3, "end") == 0 || name == "else" || name == "elif")
    return fail("found {% " + name + " %} where no such block is open");
  next();
  return name == "filter" ? filterStatement(line)
         : name == "with" ? withStatement(line)
                          : otherStatement(line, name);
}

/// {% filter upper %}: the block's text goes through filters.
uint32_t TemplateParser::filterStatement(uint32_t line) {
  uint32_t value = make(Syntax::Captured, line, {});
  value = filter(value);
  value = filters(value);
  endBlock();
  const uint32_t body = scopedBlock("endfilter", true);
  return make(Syntax::FilterBlock, line, {body, value});
}

uint32_t TemplateParser::withStatement(uint32_t line) {
  Nodes parts(1);
  while (ok() && now().kind != Token::BlockEnd) {
    if (parts.size() > 1)
      expectOperator(",");
    const uint32_t where = now().line;
    const std::string name = expectName("the name of a variable");
    expectOperator("=");
    const uint32_t value = expression();
    parts.push_back(make(Syntax::Keyword, where, {value}, intern(name)));
  }
  endBlock();
  parts.front() = scopedBlock("endwith", false);
  return make(Syntax::With, line, parts);
}

/// An unsupported statement is passed over, with its body if it has one.
uint32_t TemplateParser::otherStatement(uint32_t line,
                                        const std::string &name) {
  while (now().kind != Token::BlockEnd && now().kind != Token::End)
    next();
  endBlock();
  for (const char *withBody : {"call", "block", "autoescape", "trans"})
    if (name == withBody) {
      const std::string end = "end" + name;
      block({end});
      while (now().kind != Token::BlockEnd && now().kind != Token::End)
        next(); // its name may be there
      endBlock();
    }
  return refuseLater("the statement '" + name + "'", line);
}

uint32_t TemplateParser::ifStatement(uint32_t line) {
  Nodes parts;
  parts.push_back(tupleOrExpression());
  endBlock();
  for (;;) {
    parts.push_back(block({"elif", "else", "endif"}));
    if (takeName("elif")) {
      parts.push_back(tupleOrExpression());
      endBlock();
      continue;
    }
    if (takeName("else")) {
      endBlock();
      parts.push_back(block({"endif"}));
    }
    break;
  }
  next();
  endBlock();
  return make(Syntax::If, line, parts);
}

void TemplateParser::targets(Nodes &out, bool mayBeField) {
  const bool isParenthesis = takeOperator("(");
  do {
    const uint32_t line = now().line;
    const std::string name = expectName("the name of a variable");
    static constexpr std::string_view Reserved[] = {
        "true", "false", "none", "True", "False", "None", "loop",
        "and",  "or",    "not",  "if",   "else",  "in",   "is"};
    if (std::find(std::begin(Reserved), std::end(Reserved), name) !=
        std::end(Reserved))
      fail("cannot assign to '" + name + "'");
    if (mayBeField && takeOperator(".")) {
      const std::string field = expectName("the name of a field");
      out.push_back(
          make(Syntax::NamespaceField, line, {}, intern(name), intern(field)));
    } else {
      out.push_back(make(Syntax::Name, line, {}, intern(name)));
    }
  } while (ok() && takeOperator(","));
  if (isParenthesis)
    expectOperator(")");
}

uint32_t TemplateParser::forStatement(uint32_t line) {
  Nodes names;
  targets(names, false);
  if (!takeName("in"))
    return fail("expected 'in' but found " + found());
  const uint32_t list = expression(/*withCondition=*/false);
  const uint32_t condition = takeName("if") ? expression() : 0;
  const bool isRecursive = takeName("recursive");
  endBlock();
  ++loops;
  const uint32_t body = block({"else", "endfor"});
  --loops;
  uint32_t otherwise = 0;
  if (takeName("else")) {
    endBlock();
    otherwise = block({"endfor"});
  }
  next();
  endBlock();
  Nodes parts = {list, body, otherwise, condition};
  parts.insert(parts.end(), names.begin(), names.end());
  return isRecursive ? refuseLater("a recursive loop", line)
                     : make(Syntax::For, line, parts);
}

uint32_t TemplateParser::setStatement(uint32_t line) {
  Nodes names;
  targets(names, true);
  if (takeOperator("=")) {
    const uint32_t value = tupleOrExpression();
    endBlock();
    Nodes parts = {value};
    parts.insert(parts.end(), names.begin(), names.end());
    return make(Syntax::Set, line, parts);
  }
  if (names.size() != 1)
    return fail("expected '=' but found " + found());
  Nodes parts = {0, names.front()};
  if (isOperator("|"))
    parts.push_back(filters(make(Syntax::Captured, line, {})));
  endBlock();
  parts.front() = scopedBlock("endset", true);
  return make(Syntax::SetBlock, line, parts);
}

uint32_t TemplateParser::macroStatement(uint32_t line) {
  const bool isInside = loops != 0 || scopes != 0 || inMacro;
  const std::string name = expectName("the name of a macro");
  expectOperator("(");
  Nodes parts(1), names;
  while (ok() && !isOperator(")")) {
    if (parts.size() > 1)
      expectOperator(",");
    const uint32_t where = now().line;
    const std::string parameter = expectName("the name of a parameter");
    Nodes standard;
    if (takeOperator("="))
      standard.push_back(expression());
    parts.push_back(
        make(Syntax::Parameter, where, standard, intern(parameter)));
    names.push_back(intern(parameter));
  }
  expectOperator(")");
  endBlock();
  const bool wasInMacro = inMacro;
  inMacro = true;
  parameters.swap(names);
  parts.front() = scopedBlock("endmacro", true);
  parameters.swap(names);
  inMacro = wasInMacro;
  if (isInside)
    return refuseLater("a macro inside of a loop, a macro or a block with "
                       "names of its own",
                       line);
  return make(Syntax::Macro, line, parts, intern(name));
}

} // namespace hone::rt
