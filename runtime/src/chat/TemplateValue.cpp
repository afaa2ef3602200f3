//===- TemplateValue.cpp - The values of a chat template ------------------===//

#include "chat/TemplateValue.h"

#include "chat/MarkedText.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace hone::rt {

TemplateValue::Object::Object(ValueMemory &memory, std::string givenText,
                              List givenItems, Members givenMembers)
    : memory(memory), text(std::move(givenText)), items(std::move(givenItems)),
      members(std::move(givenMembers)) {
  charge();
}

void TemplateValue::Object::charge() {
  memory.bytes -= charged;
  charged = sizeof(Object) + 16 + text.capacity() +
            items.capacity() * sizeof(TemplateValue) +
            members.capacity() * sizeof(Members::value_type);
  memory.bytes += charged;
  depth = 0;
  nameBytes = 0;
  for (const TemplateValue &item : items)
    depth = std::max(depth, item.depth() + 1);
  for (const auto &[name, value] : members) {
    depth = std::max(depth, value.depth() + 1);
    nameBytes += name.size();
  }
}

TemplateValue TemplateValue::undefined(ValueMemory &memory, std::string name) {
  return {Kind::Undefined,
          std::make_shared<Object>(memory, std::move(name), List(), Members())};
}

TemplateValue TemplateValue::string(ValueMemory &memory, std::string text) {
  return {Kind::String,
          std::make_shared<Object>(memory, std::move(text), List(), Members())};
}

TemplateValue TemplateValue::list(ValueMemory &memory, List items,
                                  ListKind kind) {
  TemplateValue made(Kind::List,
                     std::make_shared<Object>(memory, std::string(),
                                              std::move(items), Members()));
  made.kindOfList = kind;
  return made;
}

TemplateValue TemplateValue::real(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return TemplateValue(Kind::Float, bits);
}

double TemplateValue::real() const {
  double value;
  std::memcpy(&value, &number, sizeof value);
  return value;
}

TemplateValue TemplateValue::dict(ValueMemory &memory, Members members) {
  return {Kind::Dict, std::make_shared<Object>(memory, std::string(), List(),
                                               std::move(members))};
}

TemplateValue TemplateValue::makeNamespace(ValueMemory &memory,
                                           Members members) {
  return {Kind::Namespace,
          std::make_shared<Object>(memory, std::string(), List(),
                                   std::move(members))};
}

const std::string &TemplateValue::text() const {
  static const std::string none;
  return object ? object->text : none;
}

const TemplateValue *TemplateValue::find(std::string_view name) const {
  for (const auto &[key, value] : object->members)
    if (isSameText(key, name))
      return &value;
  return nullptr;
}

void TemplateValue::setMember(const std::string &name, TemplateValue value) {
  for (auto &[key, old] : object->members)
    if (isSameText(key, name)) {
      old = std::move(value);
      return object->charge();
    }
  object->members.emplace_back(name, std::move(value));
  object->charge();
}

TemplateValue::List TemplateValue::take(size_t most) const {
  List &items = object->items;
  const auto end = items.begin() + ptrdiff_t(std::min(most, items.size()));
  List out(std::make_move_iterator(items.begin()),
           std::make_move_iterator(end));
  items.erase(items.begin(), end);
  object->charge();
  return out;
}

bool TemplateValue::isTrue() const {
  switch (tag) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Boolean:
  case Kind::Integer:
    return number != 0;
  case Kind::Float:
    return real() != 0;
  case Kind::String:
    return !object->text.empty();
  case Kind::List:
    return !object->items.empty();
  case Kind::Dict:
    return !object->members.empty();
  default:
    return true;
  }
}

bool TemplateValue::equals(const TemplateValue &other,
                           TemplateWork &work) const {
  if (!work.add(1))
    return false;
  if (isInteger() && other.isInteger())
    return number == other.number;
  if (isNumber() && other.isNumber()) // integers beyond 2^53 are no floats here
    return (isFloat() ? real() : double(number)) ==
           (other.isFloat() ? other.real() : double(other.number));
  if (tag != other.tag || kindOfList != other.kindOfList)
    return false;
  const bool isMethod = tag == Kind::Macro && number == 0;
  if (isView() || (isMethod && other.number == 0)) {
    work.isUnknown = true;
    return false;
  }
  switch (tag) {
  case Kind::String:
    return work.add((text().size() + other.text().size()) / 64) &&
           isSameText(text(), other.text());
  case Kind::List:
    if (object == other.object)
      return true;
    if (items().size() != other.items().size())
      return false;
    for (size_t i = 0; i < items().size(); ++i)
      if (!items()[i].equals(other.items()[i], work))
        return false;
    return true;
  case Kind::Dict:
    if (object == other.object)
      return true;
    if (members().size() != other.members().size())
      return false;
    for (const auto &[name, value] : members()) {
      if (!work.add(other.members().size() + other.stepsOfFind()))
        return false;
      const TemplateValue *found = other.find(name);
      if (found == nullptr || !value.equals(*found, work))
        return false;
    }
    return true;
  case Kind::Generator:
  case Kind::Namespace:
    return object == other.object;
  case Kind::Macro:
  case Kind::Loop:
    return number == other.number;
  default:
    return true; // None, and undefined ones
  }
}

const char *TemplateValue::describe() const {
  switch (tag) {
  case Kind::Undefined:
    return "an undefined value";
  case Kind::None:
    return "None";
  case Kind::Boolean:
    return "a boolean";
  case Kind::Integer:
    return "an integer";
  case Kind::Float:
    return "a float";
  case Kind::String:
    return "a string";
  case Kind::List:
    return "a list";
  case Kind::Dict:
    return "a mapping";
  case Kind::Generator:
    return "a generator";
  case Kind::Namespace:
    return "a namespace";
  case Kind::Macro:
    return "a macro";
  case Kind::Loop:
    return "a loop";
  }
  return "";
}

} // namespace hone::rt
