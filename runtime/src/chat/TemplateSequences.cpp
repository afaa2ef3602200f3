//===- TemplateSequences.cpp - Lists as a whole, and formats --------------===//
//
// jinja2.filters: unique, sort, sum, min, max; and the two ways of Python to
// put values into a text.
//
//===----------------------------------------------------------------------===//

#include "chat/TemplateInterpreter.h"

#include <algorithm>

namespace hone::rt {

TemplateValue TemplateInterpreter::memberAt(const SyntaxNode &node,
                                            const Value &item,
                                            const std::string &path) {
  if (!step(node, path.size() / 64))
    return Value();
  const MarkedText given(path);
  const std::string_view names = given.plain();
  Value value = item;
  for (size_t at = 0; at <= names.size() && ok();) {
    const size_t end = std::min(names.find('.', at), names.size());
    const std::string name(names.substr(at, end - at));
    at = end + 1;
    const bool isIndex =
        !name.empty() && name.size() < 9 &&
        name.find_first_not_of("0123456789") == std::string::npos;
    if (isIndex && (value.isList() || value.isString())) {
      const size_t index = size_t(std::stoul(name));
      Value::List items;
      if (!toItems(node, value, items))
        return Value();
      value = index < items.size()
                  ? items[index]
                  : checked(node, Value::undefined(memory, "item " + name));
    } else if (isIndex && value.isDict()) { // whose keys are texts
      value = checked(node, Value::undefined(memory, "item " + name));
    } else if (value.isUndefined()) {
      return failOperand(node, ("asked for '" + name + "'").c_str(), value);
    } else {
      value = evalMember(node, value, name);
    }
  }
  return value;
}

/// The key by which an item is compared.
bool TemplateInterpreter::sortKey(const SyntaxNode &node, const Value &item,
                                  const Value &attribute, bool caseSensitive,
                                  Value &key) {
  key = item;
  if (attribute.isString())
    key = memberAt(node, item, attribute.text());
  else if (attribute.isInteger())
    key = memberAt(node, item, std::to_string(attribute.integer()));
  else if (!attribute.isUndefined() && !attribute.isNone())
    failOperand(node, "the name of a field", attribute);
  if (ok() && key.isString() && !caseSensitive)
    key = changeCaseOf(node, key.text(), LetterCase::Lower);
  return ok();
}

TemplateValue TemplateInterpreter::sortItems(const SyntaxNode &node,
                                             Value::List items, bool reverse,
                                             bool caseSensitive,
                                             const Value &attribute) {
  if (attribute.isString() && attribute.text().find(',') != std::string::npos)
    return fail(node, "sorting by several fields is not in the subset of Jinja "
                      "that chat templates may use here");
  std::vector<std::pair<Value, size_t>> keys(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    keys[i].second = i;
    if (!sortKey(node, items[i], attribute, caseSensitive, keys[i].first))
      return Value();
    int order = 0; // all must be of one kind before they are sorted
    if (!orderOf(node, keys[0].first, keys[i].first, order))
      return Value();
  }
  if (!step(node, items.size() * 8))
    return Value();
  // Equal ones stay in their order, also when it is reversed.
  std::stable_sort(keys.begin(), keys.end(), [&](const auto &a, const auto &b) {
    int order = 0;
    orderOf(node, a.first, b.first, order);
    return reverse ? order > 0 : order < 0;
  });
  Value::List out;
  for (const auto &[key, place] : keys)
    out.push_back(items[place]);
  return ok() ? makeList(node, std::move(out)) : Value();
}

TemplateValue TemplateInterpreter::applySequenceFilter(
    const SyntaxNode &node, TemplateFilter filter, const Value &value,
    const Value::List &arguments) {
  Value::List items;
  if (!toItems(node, value, items))
    return Value();
  if (filter == TemplateFilter::Sort)
    return sortItems(node, std::move(items), arguments[0].isTrue(),
                     arguments[1].isTrue(), arguments[2]);
  if (filter == TemplateFilter::Sum) {
    Value sum = arguments[1].isUndefined() ? Value::integer(0) : arguments[1];
    for (const Value &item : items) {
      Value key;
      if (!sortKey(node, item, arguments[0], /*caseSensitive=*/true, key))
        return Value();
      if (sum.isString())
        return failOperand(node, "summed", sum);
      sum = arithmetic(node, Syntax::Add, sum, key);
    }
    return sum;
  }
  const bool caseSensitive = arguments[0].isTrue();
  if (filter == TemplateFilter::Unique) {
    Value::List out, seen;
    for (const Value &item : items) {
      Value key;
      if (!sortKey(node, item, arguments[1], caseSensitive, key))
        return Value();
      if ((key.isList() && !key.isTuple()) || key.isDict())
        return failOperand(node, "told from others by unique", key);
      const bool isNew =
          std::none_of(seen.begin(), seen.end(), [&](const Value &other) {
            return isEqual(node, key, other);
          });
      if (!step(node))
        return Value();
      if (isNew) {
        seen.push_back(key);
        out.push_back(item);
      }
    }
    return Value::generator(makeList(node, std::move(out)));
  }
  if (items.empty())
    return checked(node, Value::undefined(memory, "the least of nothing"));
  Value best, bestKey;
  for (const Value &item : items) {
    Value key;
    int order = 0;
    const bool isFirst = &item == &items.front();
    if (!sortKey(node, item, arguments[1], caseSensitive, key) ||
        (!isFirst && !orderOf(node, key, bestKey, order)))
      return Value();
    if (isFirst || (filter == TemplateFilter::Min ? order < 0 : order > 0)) {
      best = item;
      bestKey = key;
    }
  }
  return best;
}

/// Python's text % arguments, of %s, %d, %i and %%.
TemplateValue TemplateInterpreter::formatPercent(const SyntaxNode &node,
                                                 const std::string &text,
                                                 const Value::List &arguments) {
  std::string out;
  size_t used = 0;
  for (size_t at = 0; at < text.size() && ok(); ++at) {
    if (text[at] != '%') {
      out.push_back(text[at]);
      continue;
    }
    const char what = ++at < text.size() ? text[at] : '\0';
    if (what == '%') {
      out.push_back('%');
      continue;
    }
    if (what != 's' && what != 'd' && what != 'i')
      return fail(node, "the format '%" + std::string(what != 0, what) +
                            "' is not in the subset of Jinja that chat "
                            "templates may use here");
    if (used >= arguments.size())
      return fail(node, "there are too few values for a format");
    const Value &value = arguments[used++];
    if (what != 's' && !value.isInteger())
      return failOperand(node, "formatted as an integer", value);
    if (what != 's')
      out += std::to_string(value.integer());
    else if (!toText(node, value, out))
      return Value();
  }
  if (used != arguments.size())
    return fail(node, "there are too many values for a format");
  return makeString(node, std::move(out));
}

/// Python's text.format(arguments), of {} and {0}.
TemplateValue TemplateInterpreter::formatBraces(const SyntaxNode &node,
                                                const std::string &text,
                                                const Value::List &arguments) {
  std::string out;
  size_t next = 0;
  bool isNumbered = false, isCounted = false;
  for (size_t at = 0; at < text.size() && ok(); ++at) {
    const char c = text[at];
    const bool isTwice = at + 1 < text.size() && text[at + 1] == c;
    if (c != '{' && c != '}') {
      out.push_back(c);
      continue;
    }
    if (isTwice) {
      out.push_back(c);
      ++at;
      continue;
    }
    const size_t end = c == '{' ? text.find('}', at) : std::string::npos;
    const std::string field =
        end == std::string::npos ? "?" : text.substr(at + 1, end - at - 1);
    if (field.size() > 3 ||
        field.find_first_not_of("0123456789") != std::string::npos)
      return fail(node, "such a format is not in the subset of Jinja that chat "
                        "templates may use here");
    (field.empty() ? isCounted : isNumbered) = true;
    const size_t index = field.empty() ? next++ : size_t(std::stoul(field));
    if (index >= arguments.size() || (isNumbered && isCounted))
      return fail(node, "the values do not fit the format");
    if (!toText(node, arguments[index], out))
      return Value();
    at = end;
  }
  return makeString(node, std::move(out));
}

/// As Python: a name that is there keeps its place, and its spelling.
bool TemplateInterpreter::putMember(const SyntaxNode &node,
                                    Value::Members &members,
                                    const std::string &name,
                                    const Value &value) {
  // It is compared with all before it.
  if (!step(node, members.size() * (1 + name.size() / 8) / 8))
    return false;
  for (auto &[known, old] : members)
    if (isSameText(known, name)) {
      old = value;
      return true;
    }
  members.emplace_back(name, value);
  return true;
}

TemplateValue TemplateInterpreter::evalDict(const SyntaxNode &node) {
  Value::Members members;
  for (uint32_t i = 0; i < node.count && ok(); ++i) {
    const SyntaxNode &argument = this->node(tree.child(node, i));
    if (argument.kind == Syntax::Keyword) {
      const Value value = evalChild(argument, 0);
      if (value.isNamespace())
        return failOperand(node, "put into a mapping", value);
      putMember(node, members, textOf(argument), value);
      continue;
    }
    const Value given = evalChild(node, i);
    if (!ok())
      return Value();
    Value::List pairs;
    if (!given.isDict() && !toItems(node, given, pairs))
      return Value();
    if (given.isDict()) {
      for (const auto &[name, value] : given.members())
        if (!putMember(node, members, name, value))
          return Value();
      continue;
    }
    for (const Value &pair : pairs) {
      if (!pair.isList() || pair.items().size() != 2 ||
          !pair.items()[0].isString())
        return failOperand(node, "a key and a value of a mapping", pair);
      if (!putMember(node, members, pair.items()[0].text(), pair.items()[1]))
        return Value();
    }
  }
  return ok() ? checked(node, Value::dict(memory, std::move(members)))
              : Value();
}

} // namespace hone::rt
