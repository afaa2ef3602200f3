//===- TemplateCalls.cpp - Filters, tests and methods of templates --------===//

#include "chat/TemplateInterpreter.h"

#include "base/Utf8.h"
#include "chat/TemplateLexer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace hone::rt {

//===----------------------------------------------------------------------===//
// Shared by filters and methods
//===----------------------------------------------------------------------===//

TemplateValue TemplateInterpreter::strip(const SyntaxNode &node,
                                         const std::string &text, bool left,
                                         bool right, const Value &characters) {
  const bool isSpace = characters.isUndefined() || characters.isNone();
  if (!isSpace && !characters.isString())
    return failOperand(node, "characters to strip", characters);
  if (!isSpace && !stepSearch(node, text, characters.text()))
    return Value();
  const MarkedText given(text);
  return makeString(
      node, given.marked(stripText(given.plain(), left, right,
                                   isSpace ? nullptr : &characters.text())));
}

TemplateValue TemplateInterpreter::replace(const SyntaxNode &node,
                                           const std::string &text,
                                           const Value::List &arguments) {
  for (int i = 0; i < 2; ++i)
    if (!arguments[size_t(i)].isString())
      return failOperand(node, "replaced or put in its place",
                         arguments[size_t(i)]);
  const Value &count = arguments[2];
  if (!count.isUndefined() && !count.isNone() && !count.isInteger())
    return failOperand(node, "a count of replacements", count);
  if (arguments[0].text().empty())
    return fail(node, "an empty string cannot be replaced here");
  if (!stepSearch(node, text, arguments[0].text()))
    return Value();
  std::string out;
  const MarkedText from(arguments[0].text());
  if (!replaceText(MarkedText(text), from.plain(), arguments[1].text(),
                   count.isInteger() ? count.integer() : -1, limits.values,
                   out))
    return fail(node, "the template makes a text that is too long");
  return makeString(node, std::move(out));
}

TemplateValue TemplateInterpreter::changeCaseOf(const SyntaxNode &node,
                                                const std::string &text,
                                                LetterCase to) {
  std::string out;
  if (!changeCase(text, to, out))
    return fail(node, "upper and lower case of letters beyond ASCII are not "
                      "supported");
  return makeString(node, std::move(out));
}

TemplateValue TemplateInterpreter::join(const SyntaxNode &node,
                                        const Value &list,
                                        const std::string &separator) {
  Value::List items;
  if (!toItems(node, list, items))
    return Value();
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i != 0)
      out += separator;
    if (!toText(node, items[i], out))
      return Value();
    if (out.size() > limits.values)
      return fail(node, "the template makes a text that is too long");
  }
  return makeString(node, std::move(out));
}

/// The items of a mapping, as lists of two.
TemplateValue TemplateInterpreter::pairs(const SyntaxNode &node,
                                         const Value &dict,
                                         Value::ListKind kind) {
  Value::List out;
  for (const auto &[name, value] : dict.members()) {
    const Value key = makeString(node, name);
    out.push_back(ok() ? makeList(node, {key, value}, Value::ListKind::Tuple)
                       : Value());
  }
  return ok() ? makeList(node, std::move(out), kind) : Value();
}

TemplateValue TemplateInterpreter::sortedPairs(const SyntaxNode &node,
                                               const Value &dict) {
  std::vector<std::pair<std::string, size_t>> order;
  for (const auto &[name, value] : dict.members()) {
    const Value key = changeCaseOf(node, name, LetterCase::Lower);
    if (!ok() || !step(node, 1 + name.size() / 64))
      return Value();
    order.emplace_back(MarkedText(key.text()).plain(), order.size());
  }
  std::sort(order.begin(), order.end());
  const Value all = pairs(node, dict);
  Value::List out;
  for (const auto &[key, place] : order)
    out.push_back(ok() ? all.items()[place] : Value());
  return ok() ? makeList(node, std::move(out)) : Value();
}

//===----------------------------------------------------------------------===//
// Filters
//===----------------------------------------------------------------------===//

/// After the first child; at least three.
TemplateValue::List TemplateInterpreter::evalArguments(const SyntaxNode &node) {
  Value::List arguments(std::max<size_t>(3, node.count - 1));
  for (uint32_t i = 1; i < node.count && ok(); ++i)
    arguments[i - 1] = evalChild(node, i);
  return arguments;
}

TemplateValue TemplateInterpreter::evalFilter(const SyntaxNode &node) {
  const Value value = evalChild(node, 0);
  const Value::List arguments = evalArguments(node);
  return ok() ? applyFilter(node, TemplateFilter(node.number), value, arguments)
              : Value();
}

/// Wider ones are refused, since nobody reads them.
static constexpr int64_t kWidestIndent = 64;

/// jinja2.filters.do_indent.
TemplateValue TemplateInterpreter::indent(const SyntaxNode &node,
                                          const std::string &text,
                                          const Value::List &arguments) {
  std::string indention(4, ' ');
  if (arguments[0].isString())
    indention = arguments[0].text();
  else if (arguments[0].isInteger() && arguments[0].integer() <= kWidestIndent)
    indention.assign(size_t(std::max<int64_t>(arguments[0].integer(), 0)), ' ');
  else if (!arguments[0].isUndefined())
    return failOperand(node, "a width to indent by", arguments[0]);
  // The line end that it adds keeps a last empty line.
  const std::string lined = text + "\n";
  std::string out = arguments[1].isTrue() ? indention : std::string();
  bool isFirst = true;
  for (std::string_view line : splitLines(lined)) {
    if (!isFirst)
      out += "\n";
    if (!isFirst && (arguments[2].isTrue() || !line.empty()))
      out += indention;
    out += line;
    isFirst = false;
    if (out.size() > limits.values)
      return fail(node, "the template makes a text that is too long");
  }
  return makeString(node, std::move(out));
}

TemplateValue TemplateInterpreter::toJsonText(const SyntaxNode &node,
                                              const Value &value,
                                              const Value::List &arguments) {
  std::string out;
  const Value &width = arguments[1];
  const bool isCompact = width.isUndefined() || width.isNone();
  if (!isCompact && (!width.isInteger() || width.integer() < 0 ||
                     width.integer() > kWidestIndent))
    return failOperand(node, "the indent of JSON", width);
  const JsonFormat format{isCompact ? -1 : width.integer(),
                          arguments[0].isTrue()};
  if (toJson(value, format, limits.values, work, out))
    return makeString(node, std::move(out));
  if (!step(node))
    return Value();
  return failOperand(node, "written as JSON", value);
}

TemplateValue TemplateInterpreter::toInteger(const SyntaxNode &node,
                                             const Value &value,
                                             const Value &orElse) {
  if (value.isInteger())
    return Value::integer(value.integer());
  if (value.isFloat())
    return std::fabs(value.real()) < 0x1p62
               ? Value::integer(int64_t(value.real()))
               : fail(node, "an integer beyond 64 bits");
  const Value standard = orElse.isUndefined() ? Value::integer(0) : orElse;
  if (value.isUndefined())
    return failOperand(node, "an integer", value);
  if (!value.isString())
    return standard;
  const MarkedText given(value.text());
  const std::string_view digits = stripText(given.plain(), true, true, nullptr);
  int64_t number = 0;
  const char *end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end)
    return Value::integer(number);
  if (hasNumber(digits))
    return fail(node, "'" + shortened(digits, 40) +
                          "' as an integer is not supported");
  return standard;
}

/// First, last, list and reverse.
TemplateValue TemplateInterpreter::applyItemFilter(const SyntaxNode &node,
                                                   TemplateFilter filter,
                                                   const Value &value) {
  Value::List items;
  if (filter == TemplateFilter::Last && value.isGenerator())
    return failOperand(node, "gone through from its end", value);
  if (filter == TemplateFilter::First && value.isGenerator())
    items = value.take(1);
  else if (!toItems(node, value, items))
    return Value();
  if (filter == TemplateFilter::List)
    return makeList(node, std::move(items));
  if (filter == TemplateFilter::Reverse) {
    std::reverse(items.begin(), items.end());
    return value.isString()
               ? join(node, makeList(node, items), "").likeMarkup(value)
               : Value::generator(makeList(node, std::move(items)));
  }
  if (!items.empty())
    return filter == TemplateFilter::First ? items.front() : items.back();
  return checked(node, Value::undefined(memory, filter == TemplateFilter::First
                                                    ? "the first of nothing"
                                                    : "the last of nothing"));
}

/// Those that take any value as the text it prints as.
TemplateValue
TemplateInterpreter::applyTextFilter(const SyntaxNode &node,
                                     TemplateFilter filter, const Value &value,
                                     const Value::List &arguments) {
  std::string text;
  if (filter == TemplateFilter::Indent && !value.isString())
    return failOperand(node, "indented", value);
  if (!toText(node, value, text))
    return Value();
  switch (filter) {
  case TemplateFilter::Trim:
    return strip(node, text, true, true, arguments[0]).likeMarkup(value);
  case TemplateFilter::Upper:
    return changeCaseOf(node, text, LetterCase::Upper).likeMarkup(value);
  case TemplateFilter::Lower:
    return changeCaseOf(node, text, LetterCase::Lower).likeMarkup(value);
  case TemplateFilter::Capitalize:
    return changeCaseOf(node, text, LetterCase::Capitalize).likeMarkup(value);
  case TemplateFilter::Title:
    return changeCaseOf(node, text, LetterCase::TitleFilter);
  case TemplateFilter::Replace:
    return replace(node, text, arguments);
  case TemplateFilter::Indent:
    return indent(node, text, arguments).likeMarkup(value);
  case TemplateFilter::Safe:
    return makeString(node, std::move(text)).asSafe();
  case TemplateFilter::Format: {
    if (value.isMarkup())
      return failMarkup(node);
    Value::List given;
    for (uint32_t i = 1; i < node.count && tree.child(node, i) != 0; ++i)
      given.push_back(arguments[i - 1]);
    return formatPercent(node, text, given);
  }
  default: // String
    return makeString(node, std::move(text)).likeMarkup(value);
  }
}

TemplateValue TemplateInterpreter::applyFilter(const SyntaxNode &node,
                                               TemplateFilter filter,
                                               const Value &value,
                                               const Value::List &arguments) {
  switch (filter) {
  case TemplateFilter::Length:
    if (value.isUndefined())
      return Value::integer(0);
    if (value.isString())
      return step(node, value.text().size() / 64)
                 ? Value::integer(int64_t(
                       characterCount(MarkedText(value.text()).plain())))
                 : Value();
    if (value.isList() || value.isDict())
      return Value::integer(int64_t(value.isList() ? value.items().size()
                                                   : value.members().size()));
    return failOperand(node, "measured", value);
  case TemplateFilter::Join: {
    std::string separator;
    return toText(node, arguments[0], separator) ? join(node, value, separator)
                                                 : Value();
  }
  case TemplateFilter::ToJson:
    return toJsonText(node, value, arguments);
  case TemplateFilter::Default: {
    const bool missing =
        value.isUndefined() || (arguments[1].isTrue() && !value.isTrue());
    if (!missing)
      return value;
    return arguments[0].isUndefined() && tree.child(node, 1) == 0
               ? makeString(node, "")
               : arguments[0];
  }
  case TemplateFilter::First:
  case TemplateFilter::Last:
  case TemplateFilter::List:
  case TemplateFilter::Reverse:
    return applyItemFilter(node, filter, value);
  case TemplateFilter::Items:
    if (value.isUndefined())
      return Value::generator(makeList(node, {}));
    return value.isDict() ? Value::generator(pairs(node, value))
                          : failOperand(node, "taken as pairs", value);
  case TemplateFilter::DictSort:
    return value.isDict() ? sortedPairs(node, value)
                          : failOperand(node, "sorted by its keys", value);
  case TemplateFilter::Float:
  case TemplateFilter::Abs:
  case TemplateFilter::Round:
    return applyNumberFilter(node, filter, value, arguments);
  case TemplateFilter::Unique:
  case TemplateFilter::Sort:
  case TemplateFilter::Sum:
  case TemplateFilter::Min:
  case TemplateFilter::Max:
    return applySequenceFilter(node, filter, value, arguments);
  case TemplateFilter::Int:
    return toInteger(node, value, arguments[0]);
  default:
    return applyTextFilter(node, filter, value, arguments);
  }
}

TemplateValue TemplateInterpreter::evalMap(const SyntaxNode &node) {
  const Value list = evalChild(node, 0);
  const Value::List arguments = evalArguments(node);
  Value::List items, out;
  // Nothing, None or 0 among them, has no items here, unlike in a loop.
  if (!ok() || (list.isTrue() && !toItems(node, list, items)))
    return Value();
  for (const Value &item : items) {
    if (!step(node))
      return Value();
    out.push_back(
        node.kind == Syntax::MapField
            ? memberAt(node, item, textOf(node))
            : applyFilter(node, TemplateFilter(node.number), item, arguments));
  }
  return ok() ? Value::generator(makeList(node, std::move(out))) : Value();
}

TemplateValue TemplateInterpreter::evalSelect(const SyntaxNode &node) {
  const Value list = evalChild(node, 0);
  const Value argument = evalChild(node, 1);
  Value::List items, out;
  // Nothing, None or 0 among them, has no items here, unlike in a loop.
  if (!ok() || (list.isTrue() && !toItems(node, list, items)))
    return Value();
  const std::string &field = textOf(node);
  for (const Value &item : items) {
    if (!step(node))
      return Value();
    const Value subject = field.empty() ? item : memberAt(node, item, field);
    if (ok() && test(node, TemplateTest(node.number), subject, argument) ==
                    (node.what != 0))
      out.push_back(item);
  }
  return ok() ? Value::generator(makeList(node, std::move(out))) : Value();
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

bool TemplateInterpreter::test(const SyntaxNode &node, TemplateTest test,
                               const Value &value, const Value &argument) {
  using Kind = Value::Kind;
  const Kind kind = value.kind();
  const bool isIterable = kind == Kind::Undefined || kind == Kind::String ||
                          kind == Kind::List || kind == Kind::Dict;
  switch (test) {
  case TemplateTest::Defined:
    return kind != Kind::Undefined;
  case TemplateTest::Undefined:
    return kind == Kind::Undefined;
  case TemplateTest::None:
    return kind == Kind::None;
  case TemplateTest::String:
    return kind == Kind::String;
  case TemplateTest::Mapping:
    return kind == Kind::Dict;
  case TemplateTest::Iterable:
    return isIterable || kind == Kind::Generator || kind == Kind::Loop;
  case TemplateTest::Sequence:
    return isIterable && !value.isView();
  case TemplateTest::Number:
    return value.isNumber();
  case TemplateTest::Float:
    return kind == Kind::Float;
  case TemplateTest::Callable:
    return kind == Kind::Macro || kind == Kind::Undefined || kind == Kind::Loop;
  case TemplateTest::LowerCase:
  case TemplateTest::UpperCase: {
    // str.islower: of letters that have a case, at least one and all of it.
    std::string text, same;
    if (!toText(node, value, text))
      return false;
    const Value changed =
        changeCaseOf(node, text,
                     test == TemplateTest::LowerCase ? LetterCase::Lower
                                                     : LetterCase::Upper);
    return ok() && changed.text() == text &&
           std::any_of(text.begin(), text.end(), [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
           });
  }
  case TemplateTest::Integer:
    return kind == Kind::Integer;
  case TemplateTest::Boolean:
    return kind == Kind::Boolean;
  case TemplateTest::True:
  case TemplateTest::False:
    return kind == Kind::Boolean &&
           (value.integer() != 0) == (test == TemplateTest::True);
  case TemplateTest::Equal:
    return compare(node, TemplateComparison::Equal, value, argument);
  case TemplateTest::NotEqual:
    return compare(node, TemplateComparison::NotEqual, value, argument);
  case TemplateTest::Less:
    return compare(node, TemplateComparison::Less, value, argument);
  case TemplateTest::LessOrEqual:
    return compare(node, TemplateComparison::LessOrEqual, value, argument);
  case TemplateTest::Greater:
    return compare(node, TemplateComparison::Greater, value, argument);
  case TemplateTest::GreaterOrEqual:
    return compare(node, TemplateComparison::GreaterOrEqual, value, argument);
  case TemplateTest::In:
    return contains(node, argument, value);
  case TemplateTest::Odd:
  case TemplateTest::Even:
  case TemplateTest::DivisibleBy: {
    const int64_t by =
        test == TemplateTest::DivisibleBy ? argument.integer() : 2;
    if (!value.isInteger() ||
        (test == TemplateTest::DivisibleBy && !argument.isInteger())) {
      failOperand(node, "divided", value.isInteger() ? argument : value);
      return false;
    }
    if (by == 0) {
      fail(node, "division by zero");
      return false;
    }
    const bool divides = by == -1 || value.integer() % by == 0;
    return divides == (test != TemplateTest::Odd);
  }
  default:
    return value.isTrue();
  }
}

//===----------------------------------------------------------------------===//
// Methods
//===----------------------------------------------------------------------===//

TemplateValue TemplateInterpreter::evalMethod(const SyntaxNode &node) {
  const Value object = evalChild(node, 0);
  const Value::List arguments = evalArguments(node);
  if (!ok())
    return Value();
  const auto method = TemplateMethod(node.number);
  if (method == TemplateMethod::Cycle) {
    const Loop *const loop = object.kind() == Value::Kind::Loop
                                 ? findLoop(object.integer())
                                 : nullptr;
    if (loop == nullptr || node.count < 2)
      return fail(node, "there is nothing to cycle through");
    return arguments[loop->index % (node.count - 1)];
  }
  const bool isOfDict =
      method == TemplateMethod::Items || method == TemplateMethod::Keys ||
      method == TemplateMethod::Values || method == TemplateMethod::Get;
  if (isOfDict && object.isDict())
    return dictMethod(node, object, arguments);
  if (!isOfDict && object.isString())
    return stringMethod(node, object, arguments);
  if (object.isUndefined())
    return failOperand(node, ("asked for '" + textOf(node) + "'").c_str(),
                       object);
  return fail(node, std::string(object.describe()) + " has no method '" +
                        textOf(node) + "' here");
}

TemplateValue TemplateInterpreter::dictMethod(const SyntaxNode &node,
                                              const Value &object,
                                              const Value::List &arguments) {
  Value::List out;
  switch (TemplateMethod(node.number)) {
  case TemplateMethod::Items:
    return pairs(node, object, Value::ListKind::View);
  case TemplateMethod::Keys:
    return toItems(node, object, out)
               ? makeList(node, std::move(out), Value::ListKind::View)
               : Value();
  case TemplateMethod::Values:
    for (const auto &[name, value] : object.members())
      out.push_back(value);
    return makeList(node, std::move(out), Value::ListKind::View);
  default: { // get
    if (!arguments[0].isString())
      return failOperand(node, "a key of a mapping", arguments[0]);
    if (!step(node, object.stepsOfFind()))
      return Value();
    if (const Value *found = object.find(arguments[0].text()))
      return *found;
    return tree.child(node, 2) == 0 ? Value::none() : arguments[1];
  }
  }
}

static bool hasPrefix(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

static bool hasSuffix(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() &&
         text.substr(text.size() - suffix.size()) == suffix;
}

/// A list of parts of `text`, which is `object`'s.
TemplateValue
TemplateInterpreter::makeParts(const SyntaxNode &node, const Value &object,
                               const MarkedText &text,
                               const std::vector<std::string_view> &parts) {
  Value::List out;
  for (size_t i = 0; i < parts.size() && ok(); ++i)
    out.push_back(makeString(node, text.marked(parts[i])).likeMarkup(object));
  return ok() ? makeList(node, std::move(out)) : Value();
}

TemplateValue TemplateInterpreter::split(const SyntaxNode &node,
                                         const Value &object,
                                         const Value::List &arguments,
                                         bool fromEnd) {
  const std::string &text = object.text();
  const Value &separator = arguments[0], &most = arguments[1];
  const bool isSpace = separator.isUndefined() || separator.isNone();
  if (!isSpace && !separator.isString())
    return failOperand(node, "a separator", separator);
  if (!isSpace && separator.text().empty())
    return fail(node, "the separator is an empty string");
  if (!isSpace && !stepSearch(node, text, separator.text()))
    return Value();
  if (!most.isUndefined() && !most.isInteger())
    return failOperand(node, "a count of splits", most);
  const MarkedText given(text), between(separator.text());
  const std::string_view plain = given.plain();
  const std::string end(between.plain());
  // Parts are counted before they are made.
  uint64_t ends = 0;
  for (size_t at = 0; at < plain.size(); ++at)
    ends += isSpace ? pythonSpaceAt(plain, at) != 0 : plain[at] == end[0];
  if (ends * sizeof(Value) > limits.values)
    return fail(node, "the template takes more memory than a conversation "
                      "may need");
  return makeParts(node, object, given,
                   splitText(plain, isSpace ? nullptr : &end,
                             most.isInteger() ? most.integer() : -1, fromEnd));
}

/// Whether `text` has one of `ends`, a string or a list of strings.
TemplateValue TemplateInterpreter::hasEnd(const SyntaxNode &node,
                                          const std::string &text,
                                          const Value &ends, bool isStart) {
  const Value::List alone = {ends};
  const MarkedText given(text);
  bool found = false;
  for (const Value &each : ends.isList() ? ends.items() : alone) {
    if (!each.isString())
      return failOperand(node, "the start or the end of a string", each);
    if (!step(node, 1 + each.text().size() / 64))
      return Value();
    const MarkedText end(each.text());
    found |= isStart ? hasPrefix(given.plain(), end.plain())
                     : hasSuffix(given.plain(), end.plain());
  }
  return Value::boolean(found);
}

TemplateValue TemplateInterpreter::removeEnd(const SyntaxNode &node,
                                             const Value &object,
                                             const Value &end, bool isStart) {
  if (!end.isString())
    return failOperand(node, "the start or the end of a string", end);
  if (!step(node, 1 + end.text().size() / 64))
    return Value();
  const MarkedText given(object.text()), gone(end.text());
  std::string_view text = given.plain();
  if (!(isStart ? hasPrefix : hasSuffix)(text, gone.plain()))
    return object;
  if (isStart)
    text.remove_prefix(gone.plain().size());
  else
    text.remove_suffix(gone.plain().size());
  return makeString(node, given.marked(text)).likeMarkup(object);
}

/// Computes isdigit, isalpha and isspace.
TemplateValue TemplateInterpreter::isAll(const SyntaxNode &node,
                                         std::string_view text,
                                         TemplateMethod method) {
  if (method == TemplateMethod::IsSpace)
    return Value::boolean(!text.empty() &&
                          pythonStrip(text, true, false).empty());
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return uint8_t(c) >= 0x80; }))
    return fail(node, "a test for letters and digits beyond ASCII is not in "
                      "the subset of Jinja that chat templates may use here");
  const bool all =
      !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
        return method == TemplateMethod::IsDigit
                   ? c >= '0' && c <= '9'
                   : (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      });
  return Value::boolean(all);
}

TemplateValue TemplateInterpreter::stringMethod(const SyntaxNode &node,
                                                const Value &object,
                                                const Value::List &arguments) {
  const std::string &text = object.text();
  const Value &first = arguments[0];
  const auto which = TemplateMethod(node.number);
  if (object.isMarkup() &&
      (which == TemplateMethod::Replace || which == TemplateMethod::Join ||
       which == TemplateMethod::Format))
    return failMarkup(node);
  if (!step(node, text.size() / 64))
    return Value();
  const MarkedText given(text);
  switch (which) {
  case TemplateMethod::Strip:
    return strip(node, text, true, true, first).likeMarkup(object);
  case TemplateMethod::LStrip:
    return strip(node, text, true, false, first).likeMarkup(object);
  case TemplateMethod::RStrip:
    return strip(node, text, false, true, first).likeMarkup(object);
  case TemplateMethod::Split:
  case TemplateMethod::RSplit:
    return split(node, object, arguments, which == TemplateMethod::RSplit);
  case TemplateMethod::SplitLines:
    return makeParts(node, object, given, splitLines(given.plain()));
  case TemplateMethod::StartsWith:
  case TemplateMethod::EndsWith:
    return hasEnd(node, text, first, which == TemplateMethod::StartsWith);
  case TemplateMethod::RemovePrefix:
  case TemplateMethod::RemoveSuffix:
    return removeEnd(node, object, first,
                     which == TemplateMethod::RemovePrefix);
  case TemplateMethod::Replace:
    return replace(node, text, arguments);
  case TemplateMethod::Upper:
    return changeCaseOf(node, text, LetterCase::Upper).likeMarkup(object);
  case TemplateMethod::Lower:
    return changeCaseOf(node, text, LetterCase::Lower).likeMarkup(object);
  case TemplateMethod::Capitalize:
    return changeCaseOf(node, text, LetterCase::Capitalize).likeMarkup(object);
  case TemplateMethod::Title:
    return changeCaseOf(node, text, LetterCase::TitleMethod).likeMarkup(object);
  case TemplateMethod::Format: {
    Value::List given;
    for (uint32_t i = 1; i < node.count && tree.child(node, i) != 0; ++i)
      given.push_back(arguments[i - 1]);
    return formatBraces(node, text, given);
  }
  case TemplateMethod::IsDigit:
  case TemplateMethod::IsAlpha:
  case TemplateMethod::IsSpace:
    return isAll(node, given.plain(), which);
  case TemplateMethod::Join: {
    Value::List items;
    if (!toItems(node, first, items))
      return Value();
    for (const Value &item : items)
      if (!item.isString())
        return failOperand(node, "joined", item);
    return join(node, first, text);
  }
  case TemplateMethod::Find:
  case TemplateMethod::CountOf: {
    if (!first.isString())
      return failOperand(node, "looked for in a string", first);
    if (!stepSearch(node, text, first.text()))
      return Value();
    const MarkedText wanted(first.text());
    const std::string_view all = given.plain(), what = wanted.plain();
    if (which == TemplateMethod::Find) {
      const size_t at = all.find(what);
      return Value::integer(at == std::string_view::npos
                                ? -1
                                : int64_t(characterCount(all.substr(0, at))));
    }
    if (what.empty())
      return Value::integer(int64_t(characterCount(all)) + 1);
    int64_t count = 0;
    for (size_t at = 0; (at = all.find(what, at)) != all.npos;
         at += what.size())
      ++count;
    return Value::integer(count);
  }
  default:
    return fail(node, "a string has no method '" + textOf(node) + "'");
  }
}

} // namespace hone::rt
