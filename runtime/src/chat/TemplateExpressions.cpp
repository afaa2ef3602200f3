//===- TemplateExpressions.cpp - Operators and literals of templates ------===//

#include "chat/TemplateInterpreter.h"

#include "chat/TemplateNames.h"

#include <algorithm>
#include <cstdlib>

namespace hone::rt {

TemplateValue TemplateInterpreter::evalAny(const SyntaxNode &node) {
  switch (node.kind) {
  case Syntax::Refused:
    return fail(node, textOf(node) + " is not in the subset of Jinja that chat "
                                     "templates may use here");
  case Syntax::Captured:
    return captured.back();
  case Syntax::None:
    return Value::none();
  case Syntax::Boolean:
    return Value::boolean(node.number != 0);
  case Syntax::Integer:
    return Value::integer(node.number);
  case Syntax::Float:
    return makeReal(node, std::strtod(textOf(node).c_str(), nullptr));
  case Syntax::String:
    return makeString(node, textOf(node));
  case Syntax::Name:
    return evalName(node);
  case Syntax::List: {
    Value::List items;
    for (uint32_t i = 0; i < node.count && ok(); ++i)
      items.push_back(evalChild(node, i));
    return ok() ? makeList(node, std::move(items),
                           node.number != 0 ? Value::ListKind::Tuple
                                            : Value::ListKind::List)
                : Value();
  }
  case Syntax::Dict: {
    const Value empty = Value::dict(memory, {});
    Value::Members members;
    for (uint32_t i = 0; i + 1 < node.count && ok(); i += 2) {
      const Value key = evalChild(node, i);
      Value value = evalChild(node, i + 1);
      if (!ok())
        return Value();
      if (!key.isString())
        return failOperand(node, "a key of a mapping", key);
      if (value.isNamespace())
        return failOperand(node, "put into a mapping", value);
      if (!putMember(node, members, key.text(), value))
        return Value();
    }
    return ok() ? checked(node, Value::dict(memory, std::move(members)))
                : Value();
  }
  case Syntax::Attribute: {
    const Value object = evalChild(node, 0);
    return ok() ? evalMember(node, object, textOf(node)) : Value();
  }
  case Syntax::Item:
    return evalItem(node);
  case Syntax::Slice:
    return evalSlice(node);
  case Syntax::Filter:
    return evalFilter(node);
  case Syntax::Test: {
    const Value value = evalChild(node, 0);
    const Value argument = evalChild(node, 1);
    return ok() ? Value::boolean(
                      test(node, TemplateTest(node.number), value, argument))
                : Value();
  }
  case Syntax::Select:
    return evalSelect(node);
  case Syntax::MapField:
  case Syntax::MapFilter:
    return evalMap(node);
  case Syntax::Function:
    return evalFunction(node);
  case Syntax::MacroCall:
    return evalMacro(node);
  case Syntax::Method:
    return evalMethod(node);
  case Syntax::Not:
    return Value::boolean(!evalChild(node, 0).isTrue());
  case Syntax::And: {
    const Value left = evalChild(node, 0);
    return left.isTrue() ? evalChild(node, 1) : left;
  }
  case Syntax::Or: {
    const Value left = evalChild(node, 0);
    return left.isTrue() || !ok() ? left : evalChild(node, 1);
  }
  case Syntax::Compare:
    return evalCompare(node);
  case Syntax::Negate:
  case Syntax::Add:
  case Syntax::Subtract:
  case Syntax::Multiply:
  case Syntax::Divide:
  case Syntax::FloorDivide:
  case Syntax::Modulo:
    return evalArithmetic(node);
  case Syntax::Concatenate:
    return evalConcatenation(node);
  case Syntax::Conditional: {
    const bool isTrue = evalChild(node, 0).isTrue();
    return ok() ? evalChild(node, isTrue ? 1 : 2) : Value();
  }
  default:
    return fail(node, "this is no expression");
  }
}

TemplateValue TemplateInterpreter::evalName(const SyntaxNode &node) {
  if (const Value *known = lookup(node.text))
    return *known;
  return checked(node, Value::undefined(memory, textOf(node)));
}

const TemplateInterpreter::Loop *
TemplateInterpreter::findLoop(int64_t number) const {
  const auto found =
      std::find_if(loops.begin(), loops.end(),
                   [&](const Loop &each) { return each.number == number; });
  return found == loops.end() ? nullptr : &*found;
}

TemplateValue TemplateInterpreter::evalLoopField(const SyntaxNode &node,
                                                 int64_t number,
                                                 const std::string &name) {
  const Loop *const found = findLoop(number);
  if (found == nullptr)
    return fail(node, "the loop that '" + name + "' is asked of has ended");
  const Loop &loop = *found;
  const Value::List &items = loop.list.items();
  const int64_t at = int64_t(loop.index), count = int64_t(items.size());
  const bool first = at == 0, last = at + 1 == count;
  if (name == "index")
    return Value::integer(at + 1);
  if (name == "index0")
    return Value::integer(at);
  if (name == "revindex")
    return Value::integer(count - at);
  if (name == "revindex0")
    return Value::integer(count - at - 1);
  if (name == "first" || name == "last")
    return Value::boolean(name == "first" ? first : last);
  if (name == "length")
    return Value::integer(count);
  if (name == "depth" || name == "depth0")
    return Value::integer(name == "depth");
  if (name == "previtem" && !first)
    return items[size_t(at - 1)];
  if (name == "nextitem" && !last)
    return items[size_t(at + 1)];
  return checked(node, Value::undefined(memory, "loop." + name));
}

/// Whether Python's class of `value` has the public attribute `name`, which
/// Jinja finds as a field. Not those that change a list: it hides them.
static bool hasAttribute(const TemplateValue &value, std::string_view name) {
  using Kind = TemplateValue::Kind;
  using Names = std::initializer_list<std::string_view>;
  const auto isOneOf = [&](Names names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  switch (value.kind()) {
  case Kind::Dict:
    return isOneOf({"copy", "fromkeys", "get", "items", "keys", "values"});
  case Kind::String:
    return findSignature(TemplateMethods, name) != nullptr
               ? !isOneOf({"items", "keys", "values", "get"})
               : isOneOf(
                     {"casefold",    "center",       "encode",   "expandtabs",
                      "format_map",  "index",        "isalnum",  "isascii",
                      "isdecimal",   "isidentifier", "islower",  "isnumeric",
                      "isprintable", "istitle",      "isupper",  "ljust",
                      "maketrans",   "partition",    "rfind",    "rindex",
                      "rjust",       "rpartition",   "swapcase", "translate",
                      "zfill"}) ||
                     (value.isMarkup() &&
                      isOneOf({"escape", "striptags", "unescape"}));
  case Kind::List:
    return value.isView()
               ? isOneOf({"isdisjoint", "mapping"})
               : isOneOf({"count", "index"}) ||
                     (value.listKind() == TemplateValue::ListKind::List
                          ? name == "copy"
                          : !value.isTuple() &&
                                isOneOf({"start", "stop", "step"}));
  case Kind::Boolean:
  case Kind::Integer:
  case Kind::Float:
    return isOneOf({"as_integer_ratio", "conjugate", "imag", "is_integer",
                    "real"}) ||
           (value.isFloat() ? isOneOf({"fromhex", "hex"})
                            : isOneOf({"bit_count", "bit_length", "denominator",
                                       "from_bytes", "numerator", "to_bytes"}));
  case Kind::Generator:
    return isOneOf({"close", "gi_running", "gi_suspended", "gi_yieldfrom",
                    "send", "throw"});
  case Kind::Macro:
    return value.integer() != 0 &&
           isOneOf({"arguments", "caller", "catch_kwargs", "catch_varargs",
                    "explicit_caller", "name"});
  default:
    return false;
  }
}

/// Those of mappings that Jinja hides, though it finds them first.
static bool isChange(std::string_view name) {
  return name == "clear" || name == "pop" || name == "popitem" ||
         name == "setdefault" || name == "update";
}

/// An attribute `x.a` asks Python's class first, an item `x['a']` the mapping.
/// What Python's class has is refused where its value would matter.
TemplateValue TemplateInterpreter::evalMember(const SyntaxNode &node,
                                              const Value &object,
                                              const std::string &name) {
  using Kind = Value::Kind;
  switch (object.kind()) {
  case Kind::Undefined:
    return failOperand(node, ("asked for '" + name + "'").c_str(), object);
  case Kind::Loop:
    return evalLoopField(node, object.integer(), name);
  default:
    break;
  }
  if (!step(node, name.size() / 64))
    return Value();
  const bool isAttribute = node.kind == Syntax::Attribute;
  const bool isKnown = hasAttribute(object, name);
  const bool isMethod = object.isDict() || object.isList() || object.isString();
  if (isKnown && !isMethod)
    return fail(node, "'" + name + "' of " + object.describe() +
                          " is not in the subset of Jinja that chat templates "
                          "may use here");
  if (isAttribute && isKnown)
    return fail(node, "the method '" + name + "' is used without a call");
  const bool isHidden = isAttribute && object.isDict() && isChange(name);
  if ((object.isDict() || object.isNamespace()) && !isHidden) {
    if (!step(node, object.stepsOfFind()))
      return Value();
    if (const Value *found = object.find(name))
      return *found;
  }
  if (!isKnown)
    return checked(node, Value::undefined(memory, name));
  // A method is defined, and true: schema['items'] without such a key.
  return Value::macro(0);
}

/// The bytes of `text` from character `from` to `to`.
static std::string_view charactersOf(std::string_view text, size_t from,
                                     size_t to) {
  size_t begin = 0;
  for (size_t i = 0; i < from; ++i)
    begin += characterBytes(text.substr(begin));
  size_t end = begin;
  for (size_t i = from; i < to; ++i)
    end += characterBytes(text.substr(end));
  return text.substr(begin, end - begin);
}

TemplateValue TemplateInterpreter::evalItem(const SyntaxNode &node) {
  const Value object = evalChild(node, 0);
  const Value index = evalChild(node, 1);
  if (!ok())
    return Value();
  if (object.isUndefined())
    return failOperand(node, "given a subscript", object);
  if (index.isString())
    return evalMember(node, object,
                      std::string(MarkedText(index.text()).plain()));
  if (index.isInteger() &&
      ((object.isList() && !object.isView()) || object.isString())) {
    const MarkedText text(object.text());
    const int64_t count = int64_t(
        object.isList() ? object.items().size() : characterCount(text.plain()));
    const int64_t at = index.integer() + (index.integer() < 0 ? count : 0);
    if (!step(node, object.isList() ? 1 : object.text().size() / 16))
      return Value();
    if (at >= 0 && at < count)
      return object.isList()
                 ? object.items()[size_t(at)]
                 : makeString(node,
                              text.marked(charactersOf(text.plain(), size_t(at),
                                                       size_t(at) + 1)))
                       .likeMarkup(object);
  }
  return checked(
      node,
      Value::undefined(memory, index.isInteger()
                                   ? "item " + std::to_string(index.integer())
                                   : std::string("an item")));
}

/// Python's slices.
TemplateValue TemplateInterpreter::evalSlice(const SyntaxNode &node) {
  const Value object = evalChild(node, 0);
  Value bounds[3];
  for (uint32_t i = 0; i < 3; ++i) {
    bounds[i] =
        tree.child(node, i + 1) == 0 ? Value::none() : evalChild(node, i + 1);
    if (!ok())
      return Value();
    if (!bounds[i].isNone() && !bounds[i].isInteger())
      return failOperand(node, "a bound of a slice", bounds[i]);
  }
  if ((!object.isList() || object.isView()) && !object.isString())
    return failOperand(node, "sliced", object);
  const MarkedText text(object.text());
  const int64_t count = int64_t(object.isList() ? object.items().size()
                                                : characterCount(text.plain()));
  const int64_t step = bounds[2].isNone() ? 1 : bounds[2].integer();
  if (step == 0)
    return fail(node, "the step of a slice cannot be 0");
  const auto clamp = [&](const Value &bound, int64_t standard) {
    if (bound.isNone())
      return standard;
    const int64_t at =
        bound.integer() < 0
            ? (bound.integer() < -count ? -1 : bound.integer() + count)
            : bound.integer();
    const int64_t least = step < 0 ? -1 : 0;
    return std::max(least, std::min(at, step < 0 ? count - 1 : count));
  };
  const int64_t begin = clamp(bounds[0], step < 0 ? count - 1 : 0);
  const int64_t end = clamp(bounds[1], step < 0 ? -1 : count);
  if (!this->step(node, object.isList() ? uint64_t(count)
                                        : object.text().size() / 16))
    return Value();
  if (object.isString() && step == 1)
    return makeString(node, begin >= end ? std::string()
                                         : text.marked(charactersOf(
                                               text.plain(), size_t(begin),
                                               size_t(end))))
        .likeMarkup(object);
  Value::List items, from;
  if (!toItems(node, object, from))
    return Value();
  // A step beyond the length takes one item, and must not overflow.
  const int64_t stride = std::max(-count - 1, std::min(step, count + 1));
  for (int64_t at = begin; step < 0 ? at > end : at < end; at += stride)
    items.push_back(from[size_t(at)]);
  if (object.isList())
    return makeList(node, std::move(items), object.listKind());
  std::string out;
  for (const Value &character : items)
    out += character.text();
  return makeString(node, std::move(out)).likeMarkup(object);
}

TemplateValue TemplateInterpreter::evalCompare(const SyntaxNode &node) {
  Value left = evalChild(node, 0);
  for (uint32_t i = 1; i < node.count && ok(); ++i) {
    const SyntaxNode &comparison = this->node(tree.child(node, i));
    Value right = evalChild(comparison, 0);
    if (!ok() ||
        !compare(comparison, TemplateComparison(comparison.what), left, right))
      return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

bool TemplateInterpreter::isEqual(const SyntaxNode &node, const Value &left,
                                  const Value &right) {
  const bool equal = left.equals(right, work);
  if (work.isUnknown)
    fail(node, "comparing views of mappings, or methods, is not in the subset "
               "of Jinja that chat templates may use here");
  return equal && step(node, 0);
}

bool TemplateInterpreter::compare(const SyntaxNode &node,
                                  TemplateComparison how, const Value &left,
                                  const Value &right) {
  switch (how) {
  case TemplateComparison::Equal:
  case TemplateComparison::NotEqual: {
    const bool equal = isEqual(node, left, right);
    return step(node) && equal == (how == TemplateComparison::Equal);
  }
  case TemplateComparison::In:
    return contains(node, right, left);
  case TemplateComparison::NotIn:
    return !contains(node, right, left) && ok();
  default:
    break;
  }
  int order = 0;
  if (!orderOf(node, left, right, order))
    return false;
  switch (how) {
  case TemplateComparison::Less:
    return order < 0;
  case TemplateComparison::LessOrEqual:
    return order <= 0;
  case TemplateComparison::Greater:
    return order > 0;
  default:
    return order >= 0;
  }
}

bool TemplateInterpreter::orderOf(const SyntaxNode &node, const Value &left,
                                  const Value &right, int &order) {
  const auto compare = [](auto a, auto b) { return a < b ? -1 : a > b; };
  if (left.isInteger() && right.isInteger()) {
    order = compare(left.integer(), right.integer());
    return ok();
  }
  if (left.isNumber() && right.isNumber()) {
    double a = 0, b = 0;
    if (!toReal(node, left, a) || !toReal(node, right, b))
      return false;
    order = compare(a, b);
    return ok();
  }
  if (left.isString() && right.isString()) {
    if (!step(node, (left.text().size() + right.text().size()) / 64))
      return false;
    // As code points would.
    order = MarkedText(left.text())
                .plain()
                .compare(MarkedText(right.text()).plain());
    return true;
  }
  const bool rightIsWrong =
      right.isUndefined() || left.isString() || left.isNumber();
  failOperand(node, "compared by size", rightIsWrong ? right : left);
  return false;
}

bool TemplateInterpreter::contains(const SyntaxNode &node, const Value &in,
                                   const Value &what) {
  if (in.isUndefined())
    return false;
  if (in.isString() && what.isString())
    return stepSearch(node, in.text(), what.text()) &&
           MarkedText(in.text()).plain().find(
               MarkedText(what.text()).plain()) != std::string::npos;
  if (in.isDict() && what.isString())
    return step(node, in.stepsOfFind()) && in.find(what.text()) != nullptr;
  if (in.isDict() && !what.isList() && !what.isDict())
    return false;
  if (in.isList() || in.isGenerator()) {
    size_t looked = 0;
    bool found = false;
    for (const Value &item : in.items()) {
      ++looked;
      found = isEqual(node, item, what) || !step(node);
      if (found)
        break;
    }
    if (in.isGenerator())
      in.take(looked); // those after it are left
    return found && ok();
  }
  if (in.isString())
    failOperand(node, "looked for in a string", what);
  else
    failOperand(node, "searched", in);
  return false;
}

/// str(value), as it is printed.
bool TemplateInterpreter::toText(const SyntaxNode &node, const Value &value,
                                 std::string &out) {
  using Kind = Value::Kind;
  switch (value.kind()) {
  case Kind::Undefined:
    return ok();
  case Kind::String:
    out += value.text();
    return step(node, value.text().size() / 64);
  case Kind::None:
    out += "None";
    return ok();
  case Kind::Boolean:
    out += value.integer() ? "True" : "False";
    return ok();
  case Kind::Integer:
    out += std::to_string(value.integer());
    return ok();
  case Kind::Float:
    appendFloat(out, value.real());
    return ok();
  case Kind::List:
  case Kind::Dict:
    if (toRepr(value, limits.values, work, out))
      return ok();
    [[fallthrough]];
  default:
    if (step(node))
      failOperand(node, "written as text; tojson can", value);
    return false;
  }
}

TemplateValue TemplateInterpreter::evalConcatenation(const SyntaxNode &node) {
  std::string text;
  for (uint32_t i = 0; i < node.count && ok(); ++i) {
    const Value part = evalChild(node, i);
    if (!ok() || !toText(node, part, text))
      return Value();
    if (text.size() > limits.values)
      return fail(node, "the template makes a text that is too long");
  }
  return ok() ? makeString(node, std::move(text)) : Value();
}

bool TemplateInterpreter::toItems(const SyntaxNode &node, const Value &value,
                                  Value::List &out) {
  using Kind = Value::Kind;
  switch (value.kind()) {
  case Kind::Undefined:
    return ok();
  case Kind::List:
    out = value.items();
    return step(node, out.size());
  case Kind::Generator:
    out = value.take();
    return step(node, out.size());
  case Kind::Dict:
    for (const auto &[name, member] : value.members())
      out.push_back(makeString(node, name));
    return step(node, out.size());
  case Kind::String: {
    const MarkedText text(value.text());
    for (std::string_view rest = text.plain(); !rest.empty() && ok();) {
      const size_t size = characterBytes(rest);
      out.push_back(makeString(node, text.marked(rest.substr(0, size))));
      rest.remove_prefix(size);
      step(node);
    }
    return ok();
  }
  default:
    failOperand(node, "gone through", value);
    return false;
  }
}

} // namespace hone::rt
