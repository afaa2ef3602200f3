//===- Setting.cpp - One value that a user can set ------------------------===//

#include "module/Setting.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <type_traits>

namespace hone::rt {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Setting::Setting(Section &owner, const char *name, Bits bits, SetBy setBy,
                 const char *help, Readers readBy, Standards standards)
    : section(owner.name), name(name), bits(bits), setBy(setBy), help(help),
      readBy(std::move(readBy)), standards(std::move(standards)) {
  owner.list.push_back(this);
}

bool Setting::isReadBy(const std::string &method) const {
  const Methods &methods = readBy.methods;
  return methods.empty() ||
         std::find(methods.begin(), methods.end(), method) != methods.end();
}

std::string Setting::readers() const {
  std::string names;
  const Methods &methods = readBy.methods;
  for (size_t i = 0; i < methods.size(); ++i)
    names += (i == 0                    ? ""
              : i + 1 == methods.size() ? " and "
                                        : ", ") +
             std::string(methods[i]);
  return methods.size() == 1 ? "only method " + names + " reads it"
                             : "only methods " + names + " read it";
}

std::string Setting::key() const {
  return std::string(section) + (*section ? "." : "") + name;
}

std::string Setting::option() const {
  // "parts.lower.momentum" is --lower-momentum.
  const char *part = strchr(section, '.');
  std::string text = part ? part + 1 + std::string("-") + name : name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string Setting::spelling() const {
  return setBy == SetBy::Spec ? key() : "--" + option();
}

std::string Setting::identity() const {
  return setBy == SetBy::Bound ? key() : spelling();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

bool Range::has(double number) const {
  return (withLeast ? number >= least : number > least) &&
         (withMost ? number <= most : number < most);
}

std::string Range::text() const {
  // Nobody means the largest counts.
  bool hasLeast = std::isfinite(least), hasMost = most < 0x1p53;
  if (hasLeast && hasMost && withLeast && withMost)
    return " from " + formatExact(least) + " to " + formatExact(most);
  std::string out;
  if (hasLeast)
    out = (withLeast ? " at least " : " greater than ") + formatExact(least);
  if (hasMost)
    out += (hasLeast ? " and" : "") +
           std::string(withMost ? " at most " : " below ") + formatExact(most);
  return out;
}

/// The name of a number that is not finite. C's names have a sign without a
/// meaning.
static const char *nameOf(double value) {
  return std::isnan(value) ? "NaN" : value < 0 ? "-infinity" : "infinity";
}

std::string formatExact(double value) {
  if (!std::isfinite(value))
    return nameOf(value);
  char text[40];
  for (int digits = 15; digits <= 17; ++digits) {
    snprintf(text, sizeof(text), "%.*g", digits, value);
    if (strtod(text, nullptr) == value)
      break;
  }
  return text;
}

std::string formatShort(double value) {
  if (!std::isfinite(value))
    return nameOf(value);
  char text[32];
  snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

static bool parseScalar(const std::string &text, int64_t &value) {
  const char *last = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc() && end == last;
}

static bool parseScalar(const std::string &text, double &value) {
  if (text.empty() ||
      text.find_first_not_of("0123456789.eE+-") != std::string::npos)
    return false;
  char *end = nullptr;
  value = strtod(text.c_str(), &end);
  return *end == 0 && std::isfinite(value);
}

static bool parseScalar(const std::string &text, bool &value) {
  value = text == "true";
  return value || text == "false";
}

static bool readScalar(const Json &json, int64_t &value) {
  value = json.integer();
  return json.isInteger();
}

static bool readScalar(const Json &json, double &value) {
  value = json.number();
  return json.isNumber();
}

static bool readScalar(const Json &json, bool &value) {
  value = json.boolean();
  return json.isBool();
}

template <typename T> std::string Scalar<T>::expected() const {
  if (std::is_same_v<T, bool>)
    return "true or false";
  return (std::is_same_v<T, double> ? "a number" : "an integer") + range.text();
}

template <typename T>
std::string Scalar<T>::expectedNot(const std::string &text) const {
  std::string out = expected();
  const bool isDigits = !text.empty() && text.find_first_not_of("0123456789") ==
                                             std::string::npos;
  if (std::is_same_v<T, int64_t> && isDigits && range.most >= 0x1p53 &&
      strtod(text.c_str(), nullptr) > range.least)
    out +=
        (std::isfinite(range.least) ? " and at most " : " at most ") +
        std::to_string(range.most < 0x1p63 ? int64_t(range.most) : INT64_MAX);
  return out;
}

template <typename T> const char *Scalar<T>::argument() const {
  return std::is_same_v<T, bool>     ? "true|false"
         : std::is_same_v<T, double> ? "X"
                                     : "N";
}

template <typename T> bool Scalar<T>::parse(const std::string &text) {
  T parsed{};
  if (!parseScalar(text, parsed) || !range.has(double(parsed)))
    return false;
  value = parsed;
  return true;
}

template <typename T> bool Scalar<T>::read(const Json &json) {
  T found{};
  if (!readScalar(json, found) || !range.has(double(found)))
    return false;
  value = found;
  return true;
}

template <typename T> std::string Scalar<T>::text() const {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "true" : "false";
  else if constexpr (std::is_same_v<T, double>)
    return formatExact(value);
  else
    return std::to_string(value);
}

template class Scalar<int64_t>;
template class Scalar<double>;
template class Scalar<bool>;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static std::string join(const std::vector<std::string> &words,
                        const char *between) {
  std::string out;
  for (const std::string &word : words)
    out += (&word == &words[0] ? "" : between) + word;
  return out;
}

std::string Word::expected() const {
  if (!words.allowed.empty())
    return "one of " + join(words.allowed, ", ");
  return words.path ? "a path" : words.isText ? "a text" : "a word";
}

const char *Word::argument() const {
  return words.path ? words.path : words.isText ? "TEXT" : "NAME";
}

bool Word::parse(const std::string &text) {
  const std::vector<std::string> &allowed = words.allowed;
  if (text.empty() ||
      (!allowed.empty() &&
       std::find(allowed.begin(), allowed.end(), text) == allowed.end()))
    return false;
  *this = text;
  return true;
}

// Any text: a compiled config may have the resolved form of a word, as in
// "bfloat16 in 40 columns".
bool Word::read(const Json &json) {
  if (json.isString())
    *this = json.string();
  return json.isString();
}

Setting::Number Word::number() const {
  const std::vector<std::string> &allowed = words.allowed;
  auto found = std::find(allowed.begin(), allowed.end(), *this);
  if (found == allowed.end())
    return {};
  return int64_t(found - allowed.begin());
}

void Word::appendJson(std::string &out) const { out += jsonString(*this); }

bool Words::parse(const std::string &text) {
  clear();
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return true;
}

static bool readStrings(const Json &json, std::vector<std::string> &out) {
  std::vector<std::string> found;
  for (const Json &item : json.array()) {
    if (!item.isString())
      return false;
    found.push_back(item.string());
  }
  if (json.isArray())
    out = std::move(found);
  return json.isArray();
}

static void appendStrings(std::string &out,
                          const std::vector<std::string> &strings) {
  out += "[";
  for (const std::string &each : strings) {
    out += &each == &strings.front() ? "" : ",";
    out += jsonString(each);
  }
  out += "]";
}

bool Words::read(const Json &json) { return readStrings(json, *this); }

void Words::appendJson(std::string &out) const { appendStrings(out, *this); }

std::string Words::text() const { return join(*this, ","); }

bool Texts::parse(const std::string &text) {
  if (!text.empty())
    push_back(text);
  return !text.empty();
}

bool Texts::read(const Json &json) { return readStrings(json, *this); }

void Texts::appendJson(std::string &out) const { appendStrings(out, *this); }

std::string Texts::text() const {
  std::string out;
  if (!empty())
    appendJson(out);
  return out;
}

//===----------------------------------------------------------------------===//
// Names with numbers
//===----------------------------------------------------------------------===//

std::string NamedNumbers::expectedNumber() const {
  return (isWhole ? "an integer" : "a number") + range.text();
}

bool NamedNumbers::add(const std::string &name, const std::string &text) {
  double number = 0;
  int64_t whole = 0;
  if (!(isWhole ? parseScalar(text, whole) : parseScalar(text, number)))
    return false;
  if (isWhole)
    number = double(whole);
  if (!range.has(number))
    return false;
  emplace_back(name, number);
  return true;
}

bool NamedNumbers::parse(const std::string &text) {
  Result<Json> json = Json::parse(text, name);
  return json.isOk() && read(json.value());
}

bool NamedNumbers::read(const Json &json) {
  std::vector<std::pair<std::string, double>> found;
  for (const auto &[key, value] : json.object()) {
    if (!(isWhole ? value.isInteger() : value.isNumber()) ||
        !range.has(value.number()))
      return false;
    found.emplace_back(key, value.number());
  }
  if (json.isObject())
    vector::operator=(std::move(found));
  return json.isObject();
}

void NamedNumbers::appendJson(std::string &out) const {
  out += "{";
  for (const auto &[key, number] : *this) {
    out += &key == &front().first ? "" : ",";
    out += jsonString(key) + ":" + formatExact(number);
  }
  out += "}";
}

std::string NamedNumbers::text() const {
  std::string out;
  appendJson(out);
  return out;
}

//===----------------------------------------------------------------------===//
// Budgets
//===----------------------------------------------------------------------===//

bool Budget::parse(const std::string &text) {
  if (text == "none") {
    std::tie(limit, size) = std::pair(Kind::None, int64_t(0));
    return true;
  }
  double unit = 1, number = 0;
  std::string digits = text;
  for (auto [suffix, bytes] :
       {std::pair("KiB", 0x1p10), std::pair("MiB", 0x1p20),
        std::pair("GiB", 0x1p30)}) {
    size_t at = digits.size() < 3 ? 0 : digits.size() - 3;
    if (digits.compare(at, 3, suffix) != 0)
      continue;
    digits.resize(at);
    unit = bytes;
    break;
  }
  digits.resize(digits.find_last_not_of(' ') + 1);
  if (!parseScalar(digits, number) || number * unit < 1 ||
      number * unit >= 0x1p62)
    return false;
  std::tie(limit, size) = std::pair(Kind::Bytes, int64_t(number * unit));
  return true;
}

bool Budget::read(const Json &json) {
  std::tie(limit, size) = std::pair(Kind::Default, int64_t(0));
  return json.isString() && (json.string().empty() || parse(json.string()));
}

void Budget::appendJson(std::string &out) const { out += jsonString(text()); }

std::string Budget::text() const {
  return limit == Kind::Default ? ""
         : limit == Kind::None  ? "none"
                                : std::to_string(size);
}

bool Duration::parse(const std::string &text) {
  double unit = 1, number = 0;
  std::string digits = text;
  for (auto [suffix, seconds] :
       {std::pair('s', 1), std::pair('m', 60), std::pair('h', 3600)})
    if (!text.empty() && text.back() == suffix) {
      digits.pop_back();
      unit = seconds;
    }
  if (!parseScalar(digits, number) || number <= 0 || number * unit > 0x1p53)
    return false;
  value = number * unit;
  return true;
}

bool Duration::read(const Json &json) {
  return json.isString() && (json.string().empty() || parse(json.string()));
}

void Duration::appendJson(std::string &out) const { out += jsonString(text()); }

std::string Duration::text() const {
  return value > 0 ? formatShort(value) + "s" : "";
}

} // namespace hone::rt
