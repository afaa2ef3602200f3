//===- Setting.h - One value that a user can set --------------------------===//
//
// A setting is a member of a Section and enters itself in the section's list,
// as the members of MLIR's PassOptions do. So its line is its declaration, its
// row of the table and its storage; a reader of the table needs no other.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Json.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hone::rt {

/// The bits of a run that a setting changes.
enum class Bits {
  None,
  Run, ///< with another value it is another run
  /// The same, of a key that checkpoints may lack which are older than it: they
  /// had its default.
  RunUnlessStandard,
  Numerics, ///< the same run, computed otherwise
};

/// How it is set.
enum class SetBy {
  Spec,   ///< compiled in
  Option, ///< compiled in as the default of an option of the program
  Bound,  ///< compiled in as the most, and the default, of such an option
  Flag,   ///< an option of the program without an argument
};

/// The numbers that are allowed.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool withLeast = true, withMost = true;

  bool has(double number) const;
  /// " at least 0 and below 1"; empty: any.
  std::string text() const;
};

constexpr Range from(double least, double most) { return {least, most}; }
constexpr Range below(double most) { return {0, most, true, false}; }
/// Sums of two do not wrap, and doubles have them all.
constexpr Range counts{0, 0x1p53};
constexpr Range notNegative{0};
constexpr Range positive{0, std::numeric_limits<double>::infinity(), false};

/// The words that are allowed.
struct Choices {
  std::vector<std::string> allowed = {};  ///< empty: any
  std::vector<std::string> reserved = {}; ///< known, but not supported yet
  /// The kind of path, "FILE" or "DIR"; null: it is no path.
  const char *path = nullptr;
  bool isText = false; ///< more than a word
};

inline const Choices aFile{{}, {}, "FILE"}, aFolder{{}, {}, "DIR"},
    aText{{}, {}, nullptr, true};

class Section;
class NamedNumbers;

/// Values of train.method, or a part's; empty: all.
using Methods = std::vector<const char *>;
/// The methods and optimizers that read a setting.
struct Readers {
  Methods methods; ///< of train.method, or a part's; empty: all
  std::vector<const char *> optimizers = {}; ///< empty: all
  /// Whether the method that a run's is compared with reads it. It does not
  /// read settings for the use of a gradient, or for one of less precision.
  bool isCompared = true;

  Readers(Methods methods = {}) : methods(std::move(methods)) {}
  Readers(std::initializer_list<const char *> methods) : methods(methods) {}
  static Readers onlyWith(std::vector<const char *> optimizers) {
    Readers readers;
    readers.optimizers = std::move(optimizers);
    return readers;
  }
  static Readers ofTrainingAlone(Methods methods) {
    Readers readers(std::move(methods));
    readers.isCompared = false;
    return readers;
  }
};

/// The defaults with some values of train.method, as parse reads them.
using Standards = std::vector<std::pair<const char *, const char *>>;

/// The kinds of methods.
enum class MethodKind {
  Backward,   ///< a backward, and values kept of the forward
  Directions, ///< losses or derivatives along random directions
};
Methods methodsOf(MethodKind kind);
/// `value` with each method of `kind`.
Standards standardsOf(MethodKind kind, const char *value);
/// The names of all methods, after `first` if there is one.
std::vector<std::string> methodNames(const char *first = nullptr);

class Setting {
public:
  const char *section; ///< "train"; empty for one that has none
  const char *name;    ///< "learning_rate"
  Bits bits;
  SetBy setBy;
  const char *help;
  const Readers readBy;
  const Standards standards;

  bool isReadBy(const std::string &method) const;
  /// "only methods mezo and fgd read it"
  std::string readers() const;

  std::string key() const;    ///< "train.learning_rate"
  std::string option() const; ///< "learning-rate", "lower-learning-rate"
  /// Its name for a user of a training program: "--learning-rate", or the key
  /// if it is compiled in.
  std::string spelling() const;
  /// Its name in a run's identity: a bound was always part of it, under its
  /// key.
  std::string identity() const;

  /// "an integer greater than 0", "one of adamw, sgd".
  virtual std::string expected() const = 0;
  /// The same where `text` was found in its place: a bound that `expected`
  /// leaves out is named to a user who went beyond it.
  virtual std::string expectedNot(const std::string &text) const {
    (void)text;
    return expected();
  }
  /// The name of an option's argument in a usage: "N".
  virtual const char *argument() const = 0;
  /// Sets it if `text` is such a value and allowed; else nothing changes.
  virtual bool parse(const std::string &text) = 0;
  /// Sets it from the JSON of appendJson; false if it is of another kind.
  virtual bool read(const Json &value) = 0;
  virtual void appendJson(std::string &out) const = 0;
  /// The text that parse reads back to the bit.
  virtual std::string text() const = 0;
  /// Its number in a schedule: of a word its place among those allowed; nothing
  /// of a text.
  using Number = std::variant<std::monostate, bool, int64_t, double>;
  virtual Number number() const { return {}; }
  /// Null if it is no word.
  virtual const Choices *choices() const { return nullptr; }
  /// Null if it is no list.
  virtual std::vector<std::string> *list() { return nullptr; }
  /// Whether an option may be given more than once, each time adding to it.
  virtual bool repeats() const { return false; }
  /// Null if it has no names.
  virtual NamedNumbers *numbers() { return nullptr; }

protected:
  Setting(Section &owner, const char *name, Bits bits, SetBy setBy,
          const char *help, Readers readBy = {}, Standards standards = {});
  Setting(const Setting &) = delete;
  /// Both are of one declaration: only the value, which a subclass has, can
  /// differ.
  Setting &operator=(const Setting &) { return *this; }
  ~Setting() = default;
};

/// An owner of settings. Copies by assignment, member by member. Groups of
/// settings that sections have in common derive from it virtually, as does
/// every section that has such groups.
class Section {
public:
  const char *const name;
  const std::vector<Setting *> &members() const { return list; }

  Section(const Section &) = delete;
  Section &operator=(const Section &) { return *this; }

protected:
  explicit Section(const char *name) : name(name) {}
  /// Of a group, which never is a section by itself.
  Section() : Section("") {}

private:
  friend class Setting;
  std::vector<Setting *> list;
};

/// A number or truth that is used as it is.
template <typename T> class Scalar : public Setting {
public:
  Scalar(Section &owner, const char *name, T value, Bits bits, SetBy setBy,
         const char *help, Range range = {}, Readers readBy = {})
      : Setting(owner, name, bits, setBy, help, std::move(readBy)),
        value(value), range(range) {}

  operator T() const { return value; }
  Scalar &operator=(T other) {
    value = other;
    return *this;
  }

  std::string expected() const override;
  std::string expectedNot(const std::string &text) const override;
  const char *argument() const override;
  bool parse(const std::string &text) override;
  bool read(const Json &json) override;
  void appendJson(std::string &out) const override { out += text(); }
  std::string text() const override;
  Number number() const override { return value; }

private:
  T value;
  Range range;
};

using Integer = Scalar<int64_t>;
using Real = Scalar<double>;
using Truth = Scalar<bool>;

/// A number, or `planned` until a plan has found it.
class PlannedReal : public Real {
public:
  using Real::Real;

  bool isPlanned() const { return waits; }
  PlannedReal &operator=(double found) {
    waits = false;
    Real::operator=(found);
    return *this;
  }

  std::string expected() const override {
    return Real::expected() + ", or planned";
  }
  bool parse(const std::string &text) override {
    waits = text == "planned";
    return waits || Real::parse(text);
  }
  std::string text() const override { return waits ? "planned" : Real::text(); }
  Number number() const override { return waits ? Number() : Real::number(); }

private:
  bool waits = false;
};

class Word : public Setting, public std::string {
public:
  Word(Section &owner, const char *name, const char *value, Bits bits,
       SetBy setBy, const char *help, Choices choices = {}, Readers readBy = {},
       Standards standards = {})
      : Setting(owner, name, bits, setBy, help, std::move(readBy),
                std::move(standards)),
        std::string(value), words(std::move(choices)) {}
  using std::string::operator=;

  std::string expected() const override;
  const char *argument() const override;
  bool parse(const std::string &text) override;
  bool read(const Json &json) override;
  void appendJson(std::string &out) const override;
  std::string text() const override { return *this; }
  Number number() const override;
  const Choices *choices() const override { return &words; }

private:
  Choices words;
};

class Words : public Setting, public std::vector<std::string> {
public:
  Words(Section &owner, const char *name, std::vector<std::string> value,
        Bits bits, SetBy setBy, const char *help, Readers readBy = {})
      : Setting(owner, name, bits, setBy, help, std::move(readBy)),
        vector(std::move(value)) {}
  using std::vector<std::string>::operator=;

  std::string expected() const override { return "a list of words"; }
  const char *argument() const override { return "A,B"; }
  bool parse(const std::string &text) override;
  bool read(const Json &json) override;
  void appendJson(std::string &out) const override;
  std::string text() const override; ///< with commas
  std::vector<std::string> *list() override { return this; }
};

/// Texts with any signs in them; an option gives one, and may be there for
/// each.
class Texts : public Setting, public std::vector<std::string> {
public:
  Texts(Section &owner, const char *name, SetBy setBy, const char *help)
      : Setting(owner, name, Bits::None, setBy, help) {}

  std::string expected() const override { return "a text"; }
  const char *argument() const override { return "TEXT"; }
  bool parse(const std::string &text) override;
  bool read(const Json &json) override;
  void appendJson(std::string &out) const override;
  std::string text() const override; ///< as JSON; empty: none
  bool repeats() const override { return true; }
};

/// Numbers by names, in the order in which they were given.
class NamedNumbers : public Setting,
                     public std::vector<std::pair<std::string, double>> {
public:
  NamedNumbers(Section &owner, const char *name, Bits bits, SetBy setBy,
               const char *help, Range range, bool isWhole)
      : Setting(owner, name, bits, setBy, help), range(range),
        isWhole(isWhole) {}

  /// Adds one; false if `text` is no such number.
  bool add(const std::string &name, const std::string &text);
  /// Of each number: "an integer from 1 to 65536".
  std::string expectedNumber() const;

  std::string expected() const override {
    return "names, each with " + expectedNumber();
  }
  const char *argument() const override { return "JSON"; }
  bool parse(const std::string &text) override;
  bool read(const Json &json) override;
  void appendJson(std::string &out) const override;
  std::string text() const override; ///< as JSON
  NamedNumbers *numbers() override { return this; }

private:
  Range range;
  bool isWhole; ///< integers only
};

/// How much memory something may take.
class Budget : public Setting {
public:
  enum class Kind {
    Default, ///< nothing was said
    None,    ///< no limit: the fastest plan
    Bytes,
  };
  Budget(Section &owner, const char *name, Bits bits, SetBy setBy,
         const char *help)
      : Setting(owner, name, bits, setBy, help) {}

  Kind kind() const { return limit; }
  bool isBytes() const { return limit == Kind::Bytes; }
  int64_t bytes() const { return size; } ///< 0 unless isBytes()

  std::string expected() const override {
    return "none, or a size such as 45MiB (units are KiB, MiB and GiB; a "
           "number alone is bytes)";
  }
  const char *argument() const override { return "SIZE"; }
  bool parse(const std::string &text) override;
  bool read(const Json &json) override;
  void appendJson(std::string &out) const override;
  std::string text() const override;

private:
  Kind limit = Kind::Default;
  int64_t size = 0;
};

/// A time that something may take.
class Duration : public Setting {
public:
  Duration(Section &owner, const char *name, Bits bits, SetBy setBy,
           const char *help)
      : Setting(owner, name, bits, setBy, help) {}

  double seconds() const { return value; } ///< 0: none was given
  explicit operator bool() const { return value > 0; }

  std::string expected() const override {
    return "a time such as 200s, 5m or 2h (a number alone is seconds)";
  }
  const char *argument() const override { return "TIME"; }
  bool parse(const std::string &text) override;
  bool read(const Json &json) override;
  void appendJson(std::string &out) const override;
  std::string text() const override;

private:
  double value = 0;
};

/// Decimal, of as many digits as read back to the bit; "NaN", "infinity" or
/// "-infinity".
std::string formatExact(double value);
/// For a person: the same of six digits at most.
std::string formatShort(double value);

} // namespace hone::rt
