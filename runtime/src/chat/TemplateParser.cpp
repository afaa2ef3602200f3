//===- TemplateParser.cpp - Expressions of a chat template ----------------===//
//
// Follows jinja2/parser.py in precedence and in the ends of expressions.
//
//===----------------------------------------------------------------------===//

#include "chat/TemplateParsing.h"

namespace hone::rt {

using Token = TemplateParser::Token;
using Nodes = TemplateParser::Nodes;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

uint32_t TemplateParser::tupleOrExpression() {
  const uint32_t line = now().line;
  Nodes values = {expression()};
  while (ok() && takeOperator(",")) {
    if (now().kind == Token::BlockEnd || now().kind == Token::OutputEnd)
      return make(Syntax::List, line, values, 0, /*isTuple=*/1); // "a,"
    values.push_back(expression());
  }
  return values.size() == 1
             ? values.front()
             : make(Syntax::List, line, values, 0, /*isTuple=*/1);
}

uint32_t TemplateParser::expression(bool withCondition) {
  Level level(depth);
  if (depth > DeepestTemplate / 2)
    return refuse("expressions in one another of more than " +
                  std::to_string(DeepestTemplate / 2) + " levels");
  uint32_t value = orExpression();
  while (withCondition && isName(now(), "if")) {
    const uint32_t line = now().line;
    next();
    const uint32_t condition = orExpression();
    Nodes parts = {condition, value};
    if (takeName("else"))
      parts.push_back(expression());
    value = make(Syntax::Conditional, line, parts);
  }
  return value;
}

uint32_t TemplateParser::orExpression() {
  uint32_t left = andExpression();
  while (isName(now(), "or")) {
    const uint32_t line = now().line;
    next();
    const uint32_t right = andExpression();
    left = make(Syntax::Or, line, {left, right});
  }
  return left;
}

uint32_t TemplateParser::andExpression() {
  uint32_t left = notExpression();
  while (isName(now(), "and")) {
    const uint32_t line = now().line;
    next();
    const uint32_t right = notExpression();
    left = make(Syntax::And, line, {left, right});
  }
  return left;
}

uint32_t TemplateParser::notExpression() {
  if (!isName(now(), "not"))
    return comparison();
  Level level(depth);
  if (depth > DeepestTemplate / 2)
    return refuse("expressions in one another of more than " +
                  std::to_string(DeepestTemplate / 2) + " levels");
  const uint32_t line = now().line;
  next();
  const uint32_t value = notExpression();
  return make(Syntax::Not, line, {value});
}

uint32_t TemplateParser::comparison() {
  static constexpr std::pair<std::string_view, TemplateComparison> Signs[] = {
      {"==", TemplateComparison::Equal},
      {"!=", TemplateComparison::NotEqual},
      {"<", TemplateComparison::Less},
      {"<=", TemplateComparison::LessOrEqual},
      {">", TemplateComparison::Greater},
      {">=", TemplateComparison::GreaterOrEqual}};
  const uint32_t line = now().line;
  Nodes parts = {sum()};
  for (;;) {
    const uint32_t here = now().line;
    const auto sign =
        std::find_if(std::begin(Signs), std::end(Signs),
                     [&](const auto &each) { return isOperator(each.first); });
    TemplateComparison how;
    if (sign != std::end(Signs)) {
      how = sign->second;
      next();
    } else if (isName(now(), "in")) {
      how = TemplateComparison::In;
      next();
    } else if (isName(now(), "not") && isName(after(), "in")) {
      how = TemplateComparison::NotIn;
      next();
      next();
    } else {
      break;
    }
    const uint32_t right = sum();
    parts.push_back(
        make(Syntax::Comparison, here, {right}, 0, 0, uint8_t(how)));
  }
  return parts.size() == 1 ? parts.front() : make(Syntax::Compare, line, parts);
}

uint32_t TemplateParser::sum() {
  uint32_t left = concatenation();
  while (isOperator("+") || isOperator("-")) {
    const Syntax kind = isOperator("+") ? Syntax::Add : Syntax::Subtract;
    const uint32_t line = now().line;
    next();
    const uint32_t right = concatenation();
    left = make(kind, line, {left, right});
  }
  return left;
}

uint32_t TemplateParser::concatenation() {
  const uint32_t line = now().line;
  Nodes parts = {product()};
  while (takeOperator("~"))
    parts.push_back(product());
  return parts.size() == 1 ? parts.front()
                           : make(Syntax::Concatenate, line, parts);
}

uint32_t TemplateParser::product() {
  uint32_t left = unary();
  for (;;) {
    Syntax kind;
    if (isOperator("*"))
      kind = Syntax::Multiply;
    else if (isOperator("/"))
      kind = Syntax::Divide;
    else if (isOperator("//"))
      kind = Syntax::FloorDivide;
    else if (isOperator("%"))
      kind = Syntax::Modulo;
    else
      return left;
    const uint32_t line = now().line;
    next();
    const uint32_t right = unary();
    left = make(kind, line, {left, right});
  }
}

uint32_t TemplateParser::unary(bool withFilter) {
  Level level(depth);
  if (depth > DeepestTemplate / 2)
    return refuse("expressions in one another of more than " +
                  std::to_string(DeepestTemplate / 2) + " levels");
  const uint32_t line = now().line;
  uint32_t value;
  if (takeOperator("-")) {
    value = unary(false);
    value = make(Syntax::Negate, line, {value});
  } else if (takeOperator("+")) {
    unary(false);
    value = refuseLater("the sign '+' before a value", line);
  } else {
    value = primary();
  }
  value = postfix(value);
  if (withFilter)
    value = filters(value);
  if (isOperator("**")) {
    next();
    unary();
    value = refuseLater("the operator '**'", line);
  }
  return value;
}

uint32_t TemplateParser::primary() {
  const Token token = now();
  switch (token.kind) {
  case Token::String: {
    std::string text;
    for (; now().kind == Token::String; next())
      text += now().text;
    return make(Syntax::String, token.line, {}, intern(text));
  }
  case Token::Integer:
    next();
    return make(Syntax::Integer, token.line, {}, 0, token.number);
  case Token::Float:
    next();
    return make(Syntax::Float, token.line, {}, intern(token.text));
  case Token::Name: {
    next();
    const std::string &name = token.text;
    if (name == "true" || name == "True" || name == "false" || name == "False")
      return make(Syntax::Boolean, token.line, {}, 0,
                  name == "true" || name == "True");
    if (name == "none" || name == "None")
      return make(Syntax::None, token.line, {});
    if (isOperator("("))
      return call(token.line, name);
    const uint32_t text = intern(name);
    if (inMacro && (name == "varargs" || name == "kwargs") &&
        std::find(parameters.begin(), parameters.end(), text) ==
            parameters.end())
      return refuseLater("the variable '" + name + "' of a macro", token.line);
    return make(Syntax::Name, token.line, {}, text);
  }
  case Token::Operator:
    if (token.text == "(")
      return parenthesis();
    if (token.text == "[")
      return listLiteral();
    if (token.text == "{")
      return dictLiteral();
    [[fallthrough]];
  default:
    return fail("expected an expression but found " + found());
  }
}

uint32_t TemplateParser::parenthesis() {
  const uint32_t line = now().line;
  next();
  Nodes values;
  bool isTuple = isOperator(")");
  while (ok() && !isOperator(")")) {
    values.push_back(expression());
    if (!takeOperator(","))
      break;
    isTuple = true;
  }
  expectOperator(")");
  return isTuple ? make(Syntax::List, line, values, 0, /*isTuple=*/1)
                 : (ok() ? values.front() : 0);
}

uint32_t TemplateParser::listLiteral() {
  const uint32_t line = now().line;
  next();
  Nodes values;
  while (ok() && !isOperator("]")) {
    values.push_back(expression());
    if (!takeOperator(","))
      break;
  }
  expectOperator("]");
  return make(Syntax::List, line, values);
}

uint32_t TemplateParser::dictLiteral() {
  const uint32_t line = now().line;
  next();
  Nodes values;
  while (ok() && !isOperator("}")) {
    values.push_back(expression());
    expectOperator(":");
    values.push_back(expression());
    if (!takeOperator(","))
      break;
  }
  expectOperator("}");
  return make(Syntax::Dict, line, values);
}

uint32_t TemplateParser::postfix(uint32_t object) {
  while (ok()) {
    if (takeOperator("."))
      object = attribute(object);
    else if (takeOperator("["))
      object = subscript(object);
    else if (isOperator("(")) {
      Nodes positional, keywords;
      const uint32_t line = now().line;
      arguments(positional, keywords);
      object = refuseLater(
          "a call of something other than a function or a method", line);
    } else
      break;
  }
  return object;
}

/// After a dot.
uint32_t TemplateParser::attribute(uint32_t object) {
  const uint32_t line = now().line;
  if (now().kind == Token::Integer) {
    const uint32_t index = make(Syntax::Integer, line, {}, 0, now().number);
    next();
    return make(Syntax::Item, line, {object, index});
  }
  const std::string name = expectName("the name of a field");
  const bool isLoop = ok() && node(object).kind == Syntax::Name &&
                      tree.texts[node(object).text] == "loop";
  if (!isOperator("(")) {
    if (isLoop && std::find_if(std::begin(LoopFields), std::end(LoopFields),
                               [&](const char *field) {
                                 return name == field;
                               }) == std::end(LoopFields))
      return refuseLater("'loop." + name + "'", line);
    return make(Syntax::Attribute, line, {object}, intern(name));
  }
  const TemplateSignature *signature = findSignature(TemplateMethods, name);
  Nodes positional, keywords, parts = {object};
  arguments(positional, keywords);
  if (isLoop && name == "cycle" && keywords.empty()) {
    parts.insert(parts.end(), positional.begin(), positional.end());
    return make(Syntax::Method, line, parts, intern(name),
                int64_t(TemplateMethod::Cycle));
  }
  if (signature == nullptr || isLoop)
    return refuseLater("the method '" + name + "'", line);
  std::string refused;
  if (!bind("method", *signature, positional, keywords, parts, refused))
    return refuseLater(refused, line);
  return make(Syntax::Method, line, parts, intern(name), signature->which);
}

/// After an opening bracket.
uint32_t TemplateParser::subscript(uint32_t object) {
  const uint32_t line = now().line;
  Nodes parts = {object, 0, 0, 0};
  bool isSlice = false;
  for (size_t i = 1; ok() && i < 4; ++i) {
    if (!isOperator(":") && !isOperator("]"))
      parts[i] = expression();
    if (isOperator(",") && !isSlice) {
      while (ok() && takeOperator(","))
        expression();
      expectOperator("]");
      return refuseLater("a list of subscripts", line);
    }
    if (i == 3 || !takeOperator(":"))
      break;
    isSlice = true;
  }
  if (!isSlice && parts[1] == 0)
    return fail("expected a subscript but found " + found());
  expectOperator("]");
  if (isSlice)
    return make(Syntax::Slice, line, parts);
  return make(Syntax::Item, line, {object, parts[1]});
}

/// `( ... )`: keywords are nodes of their own.
void TemplateParser::arguments(Nodes &positional, Nodes &keywords) {
  expectOperator("(");
  while (ok() && !isOperator(")")) {
    const uint32_t line = now().line;
    if (isOperator("*") || isOperator("**")) {
      const std::string what = "an argument with '" + now().text + "'";
      next();
      expression();
      positional.push_back(refuseLater(what, line));
    } else if (now().kind == Token::Name && after().kind == Token::Operator &&
               after().text == "=") {
      const std::string name = now().text;
      next();
      next();
      const uint32_t value = expression();
      keywords.push_back(make(Syntax::Keyword, line, {value}, intern(name)));
    } else if (!keywords.empty()) {
      fail("found an argument without a name after one with a name");
    } else {
      positional.push_back(expression());
    }
    if (!takeOperator(","))
      break;
  }
  expectOperator(")");
}

/// Appends the arguments to `out` in the order of the parameters, 0 for one
/// that is not given.
bool TemplateParser::bind(const char *kind, const TemplateSignature &signature,
                          const Nodes &positional, const Nodes &keywords,
                          Nodes &out, std::string &refused) {
  if (!ok())
    return false;
  const std::string name = std::string(kind) + " '" + signature.name + "'";
  Nodes bound(signature.most, 0);
  if (positional.size() > signature.most) {
    refused = "the " + name + " with more than " +
              std::to_string(signature.most) + " arguments";
    return false;
  }
  std::copy(positional.begin(), positional.end(), bound.begin());
  for (uint32_t keyword : keywords) {
    const std::string &text = tree.texts[node(keyword).text];
    unsigned i = 0;
    while (i < signature.most && !(i < 3 && signature.parameters[i] &&
                                   text == signature.parameters[i]))
      ++i;
    if (i == signature.most || bound[i] != 0) {
      refused = "the argument '" + text + "' of the " + name;
      return false;
    }
    bound[i] = tree.child(node(keyword), 0);
  }
  for (unsigned i = 0; i < signature.least; ++i)
    if (bound[i] == 0) {
      refused = "the " + name + " with fewer than " +
                std::to_string(signature.least) + " arguments";
      return false;
    }
  out.insert(out.end(), bound.begin(), bound.end());
  return true;
}

/// At the opening parenthesis.
uint32_t TemplateParser::call(uint32_t line, const std::string &name) {
  Nodes positional, keywords;
  arguments(positional, keywords);
  if (name == "namespace") {
    if (!positional.empty())
      return refuseLater("a namespace made of a mapping", line);
    return make(Syntax::Function, line, keywords, 0,
                int64_t(TemplateFunction::Namespace));
  }
  if (name == "dict" && positional.size() <= 1) {
    positional.insert(positional.end(), keywords.begin(), keywords.end());
    return make(Syntax::Function, line, positional, 0,
                int64_t(TemplateFunction::Dict));
  }
  if (const TemplateSignature *known = findSignature(TemplateFunctions, name)) {
    Nodes parts;
    std::string refused;
    if (!bind("function", *known, positional, keywords, parts, refused))
      return refuseLater(refused, line);
    return make(Syntax::Function, line, parts, 0, known->which);
  }
  positional.insert(positional.end(), keywords.begin(), keywords.end());
  return make(Syntax::MacroCall, line, positional, intern(name));
}

uint32_t TemplateParser::filters(uint32_t value) {
  while (ok()) {
    if (takeOperator("|"))
      value = filter(value);
    else if (isName(now(), "is"))
      value = test(value);
    else if (isOperator("(")) {
      Nodes positional, keywords;
      const uint32_t line = now().line;
      arguments(positional, keywords);
      value = refuseLater("a call of a filter's result", line);
    } else
      break;
  }
  return value;
}

bool TemplateParser::constantString(uint32_t index, std::string &out) {
  if (!ok() || node(index).kind != Syntax::String)
    return false;
  out = tree.texts[node(index).text];
  return true;
}

/// `map`: of a field, or of a filter.
uint32_t TemplateParser::mapping(uint32_t list, uint32_t line) {
  Nodes positional, keywords;
  if (isOperator("("))
    arguments(positional, keywords);
  std::string name, refused = "the filter 'map' with these arguments";
  if (keywords.size() == 1 && positional.empty() &&
      tree.texts[node(keywords[0]).text] == "attribute" &&
      constantString(tree.child(node(keywords[0]), 0), name))
    return make(Syntax::MapField, line, {list}, intern(name));
  if (!positional.empty() && constantString(positional[0], name)) {
    const TemplateSignature *known = findSignature(TemplateFilters, name);
    Nodes parts = {list};
    if (known == nullptr)
      refused = "the filter 'map' with '" + name + "'";
    else if (bind("filter", *known,
                  Nodes(positional.begin() + 1, positional.end()), keywords,
                  parts, refused))
      return make(Syntax::MapFilter, line, parts, 0, known->which);
  }
  return refuseLater(refused, line);
}

/// select, reject, selectattr and rejectattr.
uint32_t TemplateParser::selection(uint32_t list, const std::string &name,
                                   uint32_t line) {
  Nodes positional, keywords;
  if (isOperator("("))
    arguments(positional, keywords);
  const bool ofField = name == "selectattr" || name == "rejectattr";
  std::string field, testName;
  size_t used = 0;
  std::string refused = "the filter '" + name + "' with these arguments";
  if (!keywords.empty() ||
      (ofField &&
       (positional.empty() || !constantString(positional[used++], field) ||
        field.empty())))
    return refuseLater(refused, line);
  int64_t which = int64_t(TemplateTest::Truth);
  Nodes parts = {list};
  if (used < positional.size()) {
    if (!constantString(positional[used++], testName))
      return refuseLater(refused, line);
    const TemplateSignature *known = findSignature(TemplateTests, testName);
    if (known == nullptr)
      return refuseLater("the test '" + testName + "'", line);
    const Nodes rest(positional.begin() + ptrdiff_t(used), positional.end());
    if (!bind("test", *known, rest, {}, parts, refused))
      return refuseLater(refused, line);
    which = known->which;
  }
  return make(Syntax::Select, line, parts, intern(field), which,
              name[0] == 's');
}

/// After a bar.
uint32_t TemplateParser::filter(uint32_t value) {
  const uint32_t line = now().line;
  const std::string name = expectName("the name of a filter");
  if (!ok())
    return 0;
  if (name == "map")
    return mapping(value, line);
  if (name == "select" || name == "reject" || name == "selectattr" ||
      name == "rejectattr")
    return selection(value, name, line);
  const TemplateSignature *known = findSignature(TemplateFilters, name);
  Nodes positional, keywords, parts = {value};
  if (isOperator("("))
    arguments(positional, keywords);
  std::string refused = "the filter '" + name + "'";
  if (known == nullptr ||
      !bind("filter", *known, positional, keywords, parts, refused))
    return refuseLater(refused, line);
  return make(Syntax::Filter, line, parts, intern(name), known->which);
}

/// At `is`.
uint32_t TemplateParser::test(uint32_t value) {
  const uint32_t line = now().line;
  next();
  const bool negated = takeName("not");
  const std::string name = expectName("the name of a test");
  if (!ok())
    return 0;
  const TemplateSignature *known = findSignature(TemplateTests, name);
  Nodes positional, keywords, parts = {value};
  const Token &token = now();
  if (isOperator("(")) {
    arguments(positional, keywords);
  } else if (token.kind == Token::String || token.kind == Token::Integer ||
             token.kind == Token::Float || isOperator("[") || isOperator("{") ||
             (token.kind == Token::Name && token.text != "else" &&
              token.text != "or" && token.text != "and")) {
    if (isName(token, "is"))
      return fail("found a test of a test; write 'and' between them");
    // As Jinja reads it, so `x is defined if y` is wrong there too.
    positional.push_back(postfix(primary()));
  }
  std::string refused = "the test '" + name + "'";
  if (known == nullptr ||
      !bind("test", *known, positional, keywords, parts, refused))
    return refuseLater(refused, line);
  const uint32_t made =
      make(Syntax::Test, line, parts, intern(name), known->which);
  return negated ? make(Syntax::Not, line, {made}) : made;
}

Result<TemplateTree> parseTemplate(std::string_view source,
                                   const std::string &place) {
  std::vector<Token> tokens;
  HONE_TRY(TemplateLexer(source, place).run(tokens));
  return TemplateParser(std::move(tokens), place).run();
}

} // namespace hone::rt
