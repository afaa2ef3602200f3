//===- TemplateValue.h - The values of a chat template --------------------===//
//
// Strings, lists and mappings are immutable and shared. Only a namespace
// changes, and it can be in nothing, so that no value contains itself and
// reference counts free all.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::rt {

/// Bytes of the values that live; it outlives them.
struct ValueMemory {
  size_t bytes = 0;
};

/// A count of elementary operations, which ends a rendering that takes too
/// long: few values can stand for very many, by naming one another.
struct TemplateWork {
  uint64_t done = 0;
  uint64_t most;
  /// Two values were compared that Python may tell apart by what is not known
  /// here: views of mappings, and methods.
  bool isUnknown = false;
  /// False when it is too much.
  bool add(uint64_t operations) { return (done += operations) <= most; }
};

class TemplateValue {
public:
  enum class Kind : uint8_t {
    Undefined, ///< with the missing name
    None,
    Boolean,
    Integer,
    Float,
    String,
    List,
    Dict,
    Generator, ///< items that can be gone through once
    Namespace,
    Macro, ///< a node of the tree
    Loop,  ///< the variable `loop`: the number of one of the interpreter's
  };
  using List = std::vector<TemplateValue>;
  /// The kind of Python's list here: each prints and compares in its own way.
  enum class ListKind : uint8_t {
    List,
    Tuple,
    Range,
    View, ///< of a mapping's keys, values or items
  };
  using Members = std::vector<std::pair<std::string, TemplateValue>>;

  /// Undefined without a name.
  TemplateValue() = default;
  static TemplateValue none() { return TemplateValue(Kind::None, 0); }
  static TemplateValue boolean(bool value) {
    return TemplateValue(Kind::Boolean, value);
  }
  static TemplateValue integer(int64_t value) {
    return TemplateValue(Kind::Integer, value);
  }
  static TemplateValue real(double value);
  static TemplateValue macro(uint32_t node) {
    return TemplateValue(Kind::Macro, node);
  }
  static TemplateValue loop(int64_t number) {
    return TemplateValue(Kind::Loop, number);
  }
  static TemplateValue undefined(ValueMemory &memory, std::string name);
  static TemplateValue string(ValueMemory &memory, std::string text);
  static TemplateValue list(ValueMemory &memory, List items,
                            ListKind kind = ListKind::List);
  static TemplateValue dict(ValueMemory &memory, Members members);
  /// The items of `list`, which no other value shares.
  static TemplateValue generator(TemplateValue list) {
    return {Kind::Generator, std::move(list.object)};
  }
  static TemplateValue makeNamespace(ValueMemory &memory, Members members);

  Kind kind() const { return tag; }
  bool isUndefined() const { return tag == Kind::Undefined; }
  bool isNone() const { return tag == Kind::None; }
  bool isString() const { return tag == Kind::String; }
  bool isList() const { return tag == Kind::List; }
  ListKind listKind() const { return kindOfList; } ///< of a list
  bool isTuple() const {
    return tag == Kind::List && kindOfList == ListKind::Tuple;
  }
  bool isView() const {
    return tag == Kind::List && kindOfList == ListKind::View;
  }
  /// A string of the filter safe: text added to it is escaped for HTML.
  bool isMarkup() const { return asMarkup; }
  TemplateValue likeMarkup(const TemplateValue &other) const {
    TemplateValue out = *this;
    out.asMarkup = tag == Kind::String && other.asMarkup;
    return out;
  }
  TemplateValue asSafe() const {
    TemplateValue out = *this;
    out.asMarkup = true;
    return out;
  }
  bool isFloat() const { return tag == Kind::Float; }
  bool isNumber() const { return isInteger() || isFloat(); }
  bool isGenerator() const { return tag == Kind::Generator; }
  bool isDict() const { return tag == Kind::Dict; }
  bool isNamespace() const { return tag == Kind::Namespace; }
  /// Booleans count as integers, as in Python.
  bool isInteger() const {
    return tag == Kind::Integer || tag == Kind::Boolean;
  }

  int64_t integer() const { return number; }
  double real() const; ///< of a float
  /// The text of a string, or the name of an undefined value.
  const std::string &text() const;
  const List &items() const { return object->items; }
  /// Takes the first `most` items that are left from a generator.
  List take(size_t most = SIZE_MAX) const;
  const Members &members() const { return object->members; }
  /// A member of a dict or a namespace; null when it has no such member.
  const TemplateValue *find(std::string_view name) const;
  /// What it takes to compare a name with all members'.
  uint64_t stepsOfFind() const {
    return object->members.size() / 8 + object->nameBytes / 64;
  }
  /// Sets a member of a namespace.
  void setMember(const std::string &name, TemplateValue value);

  /// Levels of lists and mappings, 0 for others.
  unsigned depth() const { return object ? object->depth : 0; }
  /// Python's bool().
  bool isTrue() const;
  /// Python's ==; false when it would be too much work.
  bool equals(const TemplateValue &other, TemplateWork &work) const;
  /// "a string", "None".
  const char *describe() const;

private:
  struct Object {
    Object(ValueMemory &memory, std::string text, List items, Members members);
    ~Object() { memory.bytes -= charged; }
    void charge();

    ValueMemory &memory;
    size_t charged = 0;
    unsigned depth = 0;
    size_t nameBytes = 0; ///< of the members
    std::string text;
    List items;
    Members members;
  };

  TemplateValue(Kind tag, int64_t number) : number(number), tag(tag) {}
  TemplateValue(Kind tag, std::shared_ptr<Object> object)
      : object(std::move(object)), tag(tag) {}

  std::shared_ptr<Object> object;
  int64_t number = 0;
  Kind tag = Kind::Undefined;
  ListKind kindOfList = ListKind::List;
  bool asMarkup = false;
};

} // namespace hone::rt
