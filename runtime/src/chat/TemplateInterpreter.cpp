//===- TemplateInterpreter.cpp - Renders a checked template ---------------===//
//
// Scopes are Jinja's: each turn of a loop, each call of a macro and each
// `generation` has one, the branches of an `if` have none. A name is looked up
// where it is used, with the results of Jinja's compile-time resolution.
//
//===----------------------------------------------------------------------===//

#include "chat/TemplateInterpreter.h"

#include "chat/TemplateNames.h"

#include <algorithm>

namespace hone::rt {

/// Calls of eval and run inside one another, over all macros.
static constexpr unsigned DeepestCall = 400;
/// Lists inside one another.
static constexpr unsigned DeepestValue = 32;
/// The memory of a mark: its place, also while the list of them grows, and then
/// its place in tokens.
static constexpr size_t MarkBytes = 4 * sizeof(TextSpan);

//===----------------------------------------------------------------------===//
// Faults and bounds
//===----------------------------------------------------------------------===//

TemplateValue TemplateInterpreter::fail(const SyntaxNode &node,
                                        const std::string &problem) {
  if (ok()) {
    fault.problem = problem;
    fault.line = node.line;
  }
  return Value();
}

TemplateValue TemplateInterpreter::failOperand(const SyntaxNode &node,
                                               const char *operation,
                                               const Value &value) {
  if (value.isUndefined())
    return fail(node, (value.text().empty() ? std::string("a value")
                                            : "'" + value.text() + "'") +
                          " is undefined, so it cannot be " + operation);
  return fail(node, std::string(value.describe()) + " cannot be " + operation);
}

bool TemplateInterpreter::step(const SyntaxNode &node, uint64_t amount) {
  if (ok() && !work.add(amount))
    fail(node, "the template takes more steps than a conversation may need");
  return ok();
}

bool TemplateInterpreter::stepSearch(const SyntaxNode &node,
                                     const std::string &text,
                                     const std::string &what) {
  const size_t blocks = what.size() / 64;
  return step(node, text.size() / 64 * (1 + blocks) + blocks);
}

bool TemplateInterpreter::checkMemory(const SyntaxNode &node) {
  if (memory.bytes + marked.size() * MarkBytes > limits.values)
    fail(node, "the template takes more memory than a conversation may need");
  return ok();
}

TemplateValue TemplateInterpreter::checked(const SyntaxNode &node,
                                           Value value) {
  if (!checkMemory(node))
    return Value();
  if (value.depth() > DeepestValue)
    return fail(node, "the template makes lists that are nested too deeply");
  return value;
}

TemplateValue TemplateInterpreter::makeString(const SyntaxNode &node,
                                              std::string text) {
  if (!step(node, text.size() / 64))
    return Value();
  return checked(node, Value::string(memory, std::move(text)));
}

TemplateValue TemplateInterpreter::makeList(const SyntaxNode &node,
                                            Value::List items,
                                            Value::ListKind kind) {
  if (!step(node, items.size()))
    return Value();
  for (const Value &item : items)
    if (item.isNamespace())
      return failOperand(node, "put into a list", item);
  return checked(node, Value::list(memory, std::move(items), kind));
}

TemplateFault TemplateInterpreter::render(const Variables &variables,
                                          const TemplateDate &today,
                                          std::string &out) {
  work = {0, limits.work};
  fault = {};
  date = today;
  depth = 0;
  out.clear();
  output = rendered = &out;
  marked.clear();
  scopes.assign(1, {0, {}});
  loops.clear();
  loopsBegun = 0;
  captured.clear();
  const auto known = std::find(tree.texts.begin(), tree.texts.end(), "loop");
  loopName =
      known == tree.texts.end() ? 0 : uint32_t(known - tree.texts.begin());
  for (const TemplateSignature &function : TemplateFunctions)
    if (date.isKnown() || function.which != int(TemplateFunction::StrftimeNow))
      for (uint32_t i = 0; i < tree.texts.size(); ++i)
        if (tree.texts[i] == function.name)
          set(i, Value::macro(0)); // so that it is defined
  for (uint32_t i = 0; i < tree.texts.size(); ++i)
    if (tree.texts[i] == "namespace")
      set(i, Value::macro(0));
  for (const auto &[name, value] : variables)
    for (uint32_t i = 0; i < tree.texts.size(); ++i)
      if (tree.texts[i] == name)
        set(i, value);
  run(tree.root);
  scopes.clear(); // before the values' memory is looked at
  loops.clear();
  captured.clear();
  return fault;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void TemplateInterpreter::put(const SyntaxNode &node, std::string_view text) {
  if (!step(node, text.size() / 64))
    return;
  if (output->size() + text.size() > limits.output)
    fail(node, "the template writes more than a conversation may need");
  else
    output->append(text);
}

/// Marks the text written since `begin`.
void TemplateInterpreter::mark(const SyntaxNode &node, size_t begin) {
  if (output != rendered || output->size() == begin)
    return;
  while (!marked.empty() && marked.back().begin >= begin)
    marked.pop_back(); // it is inside of this one
  marked.push_back({begin, output->size()});
  checkMemory(node);
}

/// Runs `block` with its output in `out`.
bool TemplateInterpreter::capture(uint32_t block, std::string &out) {
  std::string *outer = output;
  output = &out;
  run(block);
  output = outer;
  return ok();
}

const TemplateValue *TemplateInterpreter::lookup(uint32_t name) const {
  for (size_t at = scopes.size() - 1;; at = scopes[at].parent) {
    for (const auto &[known, value] : scopes[at].variables)
      if (known == name)
        return &value;
    if (at == 0)
      return nullptr;
  }
}

void TemplateInterpreter::set(uint32_t name, Value value) {
  for (auto &[known, old] : scopes.back().variables)
    if (known == name) {
      old = std::move(value);
      return;
    }
  scopes.back().variables.emplace_back(name, std::move(value));
}

void TemplateInterpreter::pushScope(size_t parent) {
  scopes.push_back({parent, {}});
}

void TemplateInterpreter::assign(uint32_t index, const Value &value) {
  const SyntaxNode &target = node(index);
  if (target.kind == Syntax::Name)
    return set(target.text, value);
  const Value *owner = lookup(target.text);
  if (owner == nullptr || !owner->isNamespace()) {
    fail(target, "'" + textOf(target) + "' is no namespace, so '" +
                     textOf(target) + "." + tree.texts[size_t(target.number)] +
                     "' cannot be set");
    return;
  }
  if (value.isNamespace()) {
    failOperand(target, "put into a namespace", value);
    return;
  }
  Value shared = *owner;
  shared.setMember(tree.texts[size_t(target.number)], value);
  checked(target, shared);
}

/// To the targets of `node` from child `from` on: to each an item if there are
/// several.
void TemplateInterpreter::assignAll(const SyntaxNode &node, uint32_t from,
                                    const Value &value) {
  const uint32_t count = node.count - from;
  if (count == 1)
    return assign(tree.child(node, from), value);
  Value::List items;
  if (!toItems(node, value, items))
    return;
  if (items.size() != count) {
    fail(node, "expected " + std::to_string(count) +
                   " values to unpack but found " +
                   std::to_string(items.size()));
    return;
  }
  for (uint32_t i = 0; i < count && ok(); ++i)
    assign(tree.child(node, from + i), items[i]);
}

TemplateInterpreter::Flow TemplateInterpreter::run(uint32_t index) {
  const SyntaxNode &statement = node(index);
  if (!step(statement))
    return Flow::Next;
  if (++depth > DeepestCall)
    fail(statement, "the template calls itself too deeply");
  Flow flow = Flow::Next;
  switch (ok() ? statement.kind : Syntax::None) {
  case Syntax::Block:
    flow = runBlock(statement);
    break;
  case Syntax::Text:
    put(statement, textOf(statement));
    break;
  case Syntax::Output: {
    std::string text;
    const Value value = evalChild(statement, 0);
    if (ok() && value.isString())
      put(statement, value.text());
    else if (ok() && toText(statement, value, text))
      put(statement, text);
    break;
  }
  case Syntax::If:
    flow = runIf(statement);
    break;
  case Syntax::For:
    flow = runFor(statement);
    break;
  case Syntax::Set:
  case Syntax::SetBlock:
    runSet(statement);
    break;
  case Syntax::FilterBlock:
    runFilterBlock(statement);
    break;
  case Syntax::With:
    flow = runWith(statement);
    break;
  case Syntax::Refused:
    eval(index);
    break;
  case Syntax::Macro:
    set(statement.text, Value::macro(index));
    break;
  case Syntax::Generation: {
    const size_t begin = output->size();
    pushScope(scopes.size() - 1); // the body is a call to Jinja
    flow = run(tree.child(statement, 0));
    popScope();
    mark(statement, begin);
    break;
  }
  case Syntax::Break:
    flow = Flow::Break;
    break;
  case Syntax::Continue:
    flow = Flow::Continue;
    break;
  default:
    break;
  }
  --depth;
  return flow;
}

TemplateInterpreter::Flow
TemplateInterpreter::runBlock(const SyntaxNode &block) {
  for (uint32_t i = 0; i < block.count && ok(); ++i)
    if (const Flow flow = run(tree.child(block, i)); flow != Flow::Next)
      return flow;
  return Flow::Next;
}

TemplateInterpreter::Flow TemplateInterpreter::runIf(const SyntaxNode &node) {
  uint32_t i = 0;
  for (; i + 1 < node.count; i += 2) {
    const bool isTrue = evalChild(node, i).isTrue();
    if (!ok())
      return Flow::Next;
    if (isTrue)
      return run(tree.child(node, i + 1));
  }
  return i < node.count ? run(tree.child(node, i)) : Flow::Next;
}

void TemplateInterpreter::runSet(const SyntaxNode &node) {
  if (node.kind == Syntax::Set) {
    const Value value = evalChild(node, 0);
    if (ok())
      assignAll(node, 1, value);
    return;
  }
  std::string text;
  pushScope(scopes.size() - 1);
  capture(tree.child(node, 0), text);
  popScope();
  if (!ok())
    return;
  Value value = makeString(node, std::move(text));
  if (tree.child(node, 2) != 0) {
    captured.push_back(std::move(value));
    value = evalChild(node, 2);
    captured.pop_back();
  }
  if (ok())
    assign(tree.child(node, 1), value);
}

void TemplateInterpreter::runFilterBlock(const SyntaxNode &node) {
  std::string text, filtered;
  pushScope(scopes.size() - 1);
  capture(tree.child(node, 0), text);
  popScope();
  captured.push_back(makeString(node, std::move(text)));
  const Value value = ok() ? evalChild(node, 1) : Value();
  captured.pop_back();
  if (ok() && toText(node, value, filtered))
    put(node, filtered);
}

/// Values are computed before any of the names is set.
TemplateInterpreter::Flow TemplateInterpreter::runWith(const SyntaxNode &node) {
  Value::List values;
  for (uint32_t i = 1; i < node.count && ok(); ++i)
    values.push_back(evalChild(this->node(tree.child(node, i)), 0));
  if (!ok())
    return Flow::Next;
  pushScope(scopes.size() - 1);
  for (uint32_t i = 1; i < node.count; ++i)
    set(this->node(tree.child(node, i)).text, values[i - 1]);
  const Flow flow = run(tree.child(node, 0));
  popScope();
  return flow;
}

/// Children: list, body, else, filter, targets.
TemplateInterpreter::Flow TemplateInterpreter::runFor(const SyntaxNode &node) {
  const Value over = evalChild(node, 0);
  Value::List items;
  if (!ok() || !toItems(node, over, items))
    return Flow::Next;
  const size_t parent = scopes.size() - 1;
  if (tree.child(node, 3) != 0) {
    Value::List kept;
    for (const Value &item : items) {
      if (!step(node))
        return Flow::Next;
      pushScope(parent);
      assignAll(node, 4, item);
      if (ok() && evalChild(node, 3).isTrue())
        kept.push_back(item);
      popScope();
      if (!ok())
        return Flow::Next;
    }
    items = std::move(kept);
  }
  if (items.empty()) {
    const uint32_t otherwise = tree.child(node, 2);
    return otherwise != 0 ? run(otherwise) : Flow::Next;
  }
  const Value list = makeList(node, std::move(items));
  if (!ok())
    return Flow::Next;
  const size_t loop = loops.size();
  const int64_t number = ++loopsBegun;
  loops.push_back({number, list, 0});
  for (size_t i = 0; i < list.items().size() && step(node); ++i) {
    loops[loop].index = i;
    pushScope(parent);
    if (loopName != 0)
      set(loopName, Value::loop(number));
    assignAll(node, 4, list.items()[i]);
    const Flow flow = ok() ? run(tree.child(node, 1)) : Flow::Next;
    popScope();
    if (flow == Flow::Break)
      break;
  }
  loops.resize(loop);
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

TemplateValue TemplateInterpreter::evalChild(const SyntaxNode &node,
                                             uint32_t i) {
  const uint32_t child = tree.child(node, i);
  return child == 0 ? Value() : eval(child);
}

TemplateValue TemplateInterpreter::eval(uint32_t index) {
  const SyntaxNode &expression = node(index);
  if (!step(expression))
    return Value();
  if (++depth > DeepestCall)
    fail(expression, "the template calls itself too deeply");
  Value value = ok() ? evalAny(expression) : Value();
  --depth;
  return ok() ? value : Value();
}

//===----------------------------------------------------------------------===//
// Functions and macros
//===----------------------------------------------------------------------===//

TemplateValue TemplateInterpreter::evalFunction(const SyntaxNode &node) {
  const auto function = TemplateFunction(node.number);
  if (function == TemplateFunction::Namespace) {
    Value::Members members;
    for (uint32_t i = 0; i < node.count && ok(); ++i) {
      const SyntaxNode &keyword = this->node(tree.child(node, i));
      Value value = evalChild(keyword, 0);
      if (value.isNamespace())
        return failOperand(node, "put into a namespace", value);
      members.emplace_back(textOf(keyword), std::move(value));
    }
    if (!ok())
      return Value();
    return checked(node, Value::makeNamespace(memory, std::move(members)));
  }
  if (function == TemplateFunction::Dict)
    return evalDict(node);
  Value arguments[3];
  for (uint32_t i = 0; i < 3 && i < node.count && ok(); ++i)
    arguments[i] = evalChild(node, i);
  if (!ok())
    return Value();
  if (function == TemplateFunction::Range) {
    for (uint32_t i = 0; i < node.count; ++i)
      if (tree.child(node, i) != 0 && !arguments[i].isInteger())
        return failOperand(node, "a bound of a range", arguments[i]);
    const bool onlyEnd = tree.child(node, 1) == 0;
    int64_t at = onlyEnd ? 0 : arguments[0].integer();
    const int64_t end = arguments[onlyEnd ? 0 : 1].integer();
    const int64_t by = tree.child(node, 2) == 0 ? 1 : arguments[2].integer();
    if (by == 0)
      return fail(node, "the step of a range cannot be 0");
    Value::List items;
    while ((by > 0 ? at < end : at > end) && step(node)) {
      items.push_back(Value::integer(at));
      if (items.size() * sizeof(Value) > limits.values ||
          __builtin_add_overflow(at, by, &at))
        return fail(node, "the template makes a range that is too long");
    }
    return ok() ? makeList(node, std::move(items), Value::ListKind::Range)
                : Value();
  }
  if (!arguments[0].isString() && function == TemplateFunction::StrftimeNow)
    return failOperand(node, "the format of a date", arguments[0]);
  if (function == TemplateFunction::RaiseException) {
    std::string message;
    if (toText(node, arguments[0], message)) {
      fail(node, message.empty() ? "an exception" : message);
      fault.isRaised = true;
    }
    return Value();
  }
  if (!date.isKnown())
    return fail(node, "the template asks for today's date, which it was not "
                      "given");
  std::string text;
  const std::string unknown = formatDate(date, arguments[0].text(), text);
  if (!unknown.empty())
    return fail(node, "the directive '" + unknown +
                          "' of a date's format is not supported");
  return makeString(node, std::move(text));
}

TemplateValue TemplateInterpreter::evalMacro(const SyntaxNode &node) {
  const Value *known = lookup(node.text);
  if (known == nullptr || known->kind() != Value::Kind::Macro ||
      known->integer() == 0)
    return fail(node, "'" + textOf(node) +
                          "' is no macro that is defined before, nor a "
                          "function of the subset of Jinja that chat templates "
                          "may use here");
  const SyntaxNode &macro = this->node(uint32_t(known->integer()));
  const uint32_t parameters = macro.count - 1;
  std::vector<std::pair<uint32_t, Value>> bound;
  for (uint32_t i = 0; i < node.count; ++i) {
    const SyntaxNode &argument = this->node(tree.child(node, i));
    const bool isNamed = argument.kind == Syntax::Keyword;
    Value value = isNamed ? evalChild(argument, 0) : evalChild(node, i);
    if (!ok())
      return Value();
    if (!isNamed && i >= parameters)
      return fail(node, "the macro '" + textOf(node) + "' takes at most " +
                            std::to_string(parameters) + " arguments");
    const uint32_t name =
        isNamed ? argument.text : this->node(tree.child(macro, i + 1)).text;
    for (const auto &[taken, old] : bound)
      if (taken == name)
        return fail(node,
                    "the argument '" + tree.texts[name] + "' is given twice");
    bound.emplace_back(name, std::move(value));
  }
  const size_t givenCount = bound.size();
  size_t used = 0;
  pushScope(0);
  for (uint32_t i = 0; i < parameters && ok(); ++i) {
    const SyntaxNode &parameter = this->node(tree.child(macro, i + 1));
    const auto given =
        std::find_if(bound.begin(), bound.end(), [&](const auto &each) {
          return each.first == parameter.text;
        });
    used += given != bound.end();
    if (given != bound.end())
      set(parameter.text, given->second);
    else if (parameter.count != 0)
      set(parameter.text, evalChild(parameter, 0));
    else
      set(parameter.text, Value::undefined(memory, textOf(parameter)));
  }
  if (ok() && used != givenCount)
    fail(node, "the macro '" + textOf(node) + "' has no such argument");
  std::string text;
  if (ok())
    capture(tree.child(macro, 0), text);
  popScope();
  return ok() ? makeString(node, std::move(text)) : Value();
}

} // namespace hone::rt
