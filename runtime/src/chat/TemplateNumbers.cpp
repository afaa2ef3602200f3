//===- TemplateNumbers.cpp - Arithmetic of templates ----------------------===//
//
// Python's, of integers of 64 bits and floats; an operation that would need
// longer integers fails.
//
//===----------------------------------------------------------------------===//

#include "chat/TemplateInterpreter.h"

#include "base/Utf8.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace hone::rt {

/// Integers that are floats without rounding.
static constexpr int64_t kExact = int64_t(1) << 53;

/// markupsafe.escape.
static std::string escapeHtml(const std::string &text) {
  static constexpr std::pair<char, const char *> Names[] = {{'&', "&amp;"},
                                                            {'<', "&lt;"},
                                                            {'>', "&gt;"},
                                                            {'\'', "&#39;"},
                                                            {'"', "&#34;"}};
  std::string out;
  for (char c : text) {
    const auto name =
        std::find_if(std::begin(Names), std::end(Names),
                     [&](const auto &each) { return each.first == c; });
    if (name == std::end(Names))
      out.push_back(c);
    else
      out += name->second;
  }
  return out;
}

TemplateValue TemplateInterpreter::failMarkup(const SyntaxNode &node) {
  return fail(node, "such use of a text after the filter 'safe' is not in the "
                    "subset of Jinja that chat templates may use here");
}

TemplateValue TemplateInterpreter::makeReal(const SyntaxNode &node,
                                            double value) {
  return std::isfinite(value) ? Value::real(value)
                              : fail(node, "a float that is too large");
}

bool TemplateInterpreter::toReal(const SyntaxNode &node, const Value &value,
                                 double &out) {
  if (!value.isFloat() &&
      (value.integer() > kExact || value.integer() < -kExact)) {
    fail(node, "an integer beyond 53 bits beside a float");
    return false;
  }
  out = value.isFloat() ? value.real() : double(value.integer());
  return ok();
}

TemplateValue TemplateInterpreter::evalArithmetic(const SyntaxNode &node) {
  const Value left = evalChild(node, 0);
  const Value right =
      node.kind == Syntax::Negate ? Value::integer(0) : evalChild(node, 1);
  return ok() ? arithmetic(node, node.kind, left, right) : Value();
}

TemplateValue TemplateInterpreter::arithmetic(const SyntaxNode &node,
                                              Syntax kind, const Value &left,
                                              const Value &right) {
  if (kind == Syntax::Add && left.isString() && right.isString() &&
      left.isMarkup() != right.isMarkup()) {
    const auto safe = [&](const Value &value) {
      return value.isMarkup()
                 ? value
                 : makeString(node, escapeHtml(value.text())).asSafe();
    };
    const Value first = safe(left), second = safe(right);
    return ok() ? arithmetic(node, kind, first, second) : Value();
  }
  if (kind == Syntax::Add && left.isString() && right.isString()) {
    if (left.text().size() + right.text().size() > limits.values)
      return fail(node, "the template makes a text that is too long");
    std::string text;
    text.reserve(left.text().size() + right.text().size());
    text.append(left.text()).append(right.text());
    return makeString(node, std::move(text)).likeMarkup(left);
  }
  if (kind == Syntax::Add && left.isList() && right.isList() &&
      left.listKind() == right.listKind() &&
      left.listKind() <= Value::ListKind::Tuple) {
    Value::List items = left.items();
    items.insert(items.end(), right.items().begin(), right.items().end());
    return makeList(node, std::move(items), left.listKind());
  }
  if (kind == Syntax::Multiply && left.isString() && right.isInteger()) {
    const uint64_t times = uint64_t(std::max<int64_t>(right.integer(), 0));
    if (!left.text().empty() && times > limits.values / left.text().size())
      return fail(node, "the template makes a text that is too long");
    std::string text;
    if (!left.text().empty())
      for (uint64_t i = 0; i < times; ++i)
        text += left.text();
    return makeString(node, std::move(text)).likeMarkup(left);
  }
  if (kind == Syntax::Modulo && left.isMarkup())
    return failMarkup(node);
  if (kind == Syntax::Modulo && left.isString())
    return right.isTuple() ? formatPercent(node, left.text(), right.items())
                           : formatPercent(node, left.text(), {right});
  const char *name = kind == Syntax::Negate     ? "negated"
                     : kind == Syntax::Add      ? "added"
                     : kind == Syntax::Subtract ? "subtracted"
                     : kind == Syntax::Multiply ? "multiplied"
                     : kind == Syntax::Modulo   ? "taken modulo"
                                                : "divided";
  if (!left.isNumber() || !right.isNumber()) {
    if (left.isUndefined() || right.isUndefined())
      return failOperand(node, name, left.isUndefined() ? left : right);
    return fail(node, std::string(left.describe()) + " and " +
                          right.describe() + " cannot be " + name);
  }
  if (left.isInteger() && right.isInteger() && kind != Syntax::Divide)
    return integerArithmetic(node, kind, left.integer(), right.integer());
  double a = 0, b = 0;
  if (!toReal(node, left, a) || !toReal(node, right, b))
    return Value();
  return realArithmetic(node, kind, a, b);
}

TemplateValue TemplateInterpreter::integerArithmetic(const SyntaxNode &node,
                                                     Syntax kind, int64_t a,
                                                     int64_t b) {
  int64_t result = 0;
  bool overflows = false;
  switch (kind) {
  case Syntax::Negate:
    overflows = __builtin_sub_overflow(int64_t(0), a, &result);
    break;
  case Syntax::Add:
    overflows = __builtin_add_overflow(a, b, &result);
    break;
  case Syntax::Subtract:
    overflows = __builtin_sub_overflow(a, b, &result);
    break;
  case Syntax::Multiply:
    overflows = __builtin_mul_overflow(a, b, &result);
    break;
  default: {
    if (b == 0)
      return fail(node, "division by zero");
    overflows = a == INT64_MIN && b == -1;
    if (overflows)
      break;
    // Python rounds down, C++ towards zero.
    const bool isBelow = a % b != 0 && (a < 0) != (b < 0);
    result = kind == Syntax::FloorDivide ? a / b - isBelow
                                         : a % b + (isBelow ? b : 0);
  }
  }
  if (overflows)
    return fail(node, "an integer beyond 64 bits");
  return Value::integer(result);
}

TemplateValue TemplateInterpreter::realArithmetic(const SyntaxNode &node,
                                                  Syntax kind, double a,
                                                  double b) {
  switch (kind) {
  case Syntax::Negate:
    return makeReal(node, -a);
  case Syntax::Add:
    return makeReal(node, a + b);
  case Syntax::Subtract:
    return makeReal(node, a - b);
  case Syntax::Multiply:
    return makeReal(node, a * b);
  default:
    break;
  }
  if (b == 0)
    return fail(node, "division by zero");
  if (kind == Syntax::Divide)
    return makeReal(node, a / b);
  // float_divmod of Python.
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) {
      rest += b;
      quotient -= 1;
    }
  } else {
    rest = std::copysign(0.0, b);
  }
  if (kind == Syntax::Modulo)
    return makeReal(node, rest);
  double whole = std::copysign(0.0, a / b);
  if (quotient != 0) {
    whole = std::floor(quotient);
    whole += quotient - whole > 0.5;
  }
  return makeReal(node, whole);
}

/// Digits with a point or an exponent, as float() of Python reads them and no
/// other spelling.
static bool readReal(std::string_view text, double &out) {
  size_t at = !text.empty() && (text[0] == '-' || text[0] == '+');
  size_t digits = 0;
  const auto skipDigits = [&] {
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      ++digits;
  };
  skipDigits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    skipDigits();
  }
  if (digits == 0)
    return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    at += at < text.size() && (text[at] == '-' || text[at] == '+');
    digits = 0;
    skipDigits();
    if (digits == 0)
      return false;
  }
  if (at != text.size() || text.size() > 64)
    return false;
  out = std::strtod(std::string(text).c_str(), nullptr);
  return std::isfinite(out);
}

/// float, abs and round.
TemplateValue TemplateInterpreter::applyNumberFilter(
    const SyntaxNode &node, TemplateFilter filter, const Value &value,
    const Value::List &arguments) {
  double number = 0;
  if (filter == TemplateFilter::Float && value.isString()) {
    const MarkedText given(value.text());
    const std::string_view text = stripText(given.plain(), true, true, nullptr);
    if (readReal(text, number))
      return makeReal(node, number);
    // "inf" and "1_000" are floats to Python, too.
    if (hasNumber(text) || text.find_first_of("nNiI") != std::string_view::npos)
      return fail(node,
                  "'" + shortened(text, 40) + "' as a float is not supported");
  }
  if (filter == TemplateFilter::Float && !value.isNumber() &&
      !value.isUndefined())
    return arguments[0].isUndefined() ? Value::real(0) : arguments[0];
  if (!value.isNumber())
    return failOperand(node, "taken as a number", value);
  if (filter == TemplateFilter::Abs && value.isInteger())
    return value.integer() < 0
               ? integerArithmetic(node, Syntax::Negate, value.integer(), 0)
               : Value::integer(value.integer());
  if (filter == TemplateFilter::Round && value.isInteger() &&
      arguments[0].isUndefined() && arguments[1].isUndefined())
    return Value::integer(value.integer());
  if (!toReal(node, value, number))
    return Value();
  if (filter == TemplateFilter::Float)
    return makeReal(node, number);
  if (filter == TemplateFilter::Abs)
    return makeReal(node, std::fabs(number));
  const Value &places = arguments[0], &method = arguments[1];
  if (!method.isUndefined() &&
      !(method.isString() && method.text() == "common"))
    return fail(node, "rounding up or down is not in the subset of Jinja that "
                      "chat templates may use here");
  if (value.isInteger() ||
      !(places.isUndefined() || (places.isInteger() && places.integer() >= 0 &&
                                 places.integer() <= 15)) ||
      std::fabs(number) > 1e15)
    return fail(node, "rounding such numbers is not in the subset of Jinja "
                      "that chat templates may use here");
  char text[64];
  std::snprintf(text, sizeof text, "%.*f",
                places.isUndefined() ? 0 : int(places.integer()), number);
  return makeReal(node, std::strtod(text, nullptr));
}

} // namespace hone::rt
