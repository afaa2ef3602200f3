//===- TemplateInterpreter.h - Renders a checked template -----------------===//
//
// Jinja as Transformers sets it up: undefined values print as nothing and are
// false, but have no fields; nothing that a template was given can be changed.
// Steps, depth, memory and output are bounded, so that any template ends.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "chat/TemplateSyntax.h"
#include "chat/TemplateText.h"
#include "chat/TemplateValue.h"

#include <string>
#include <utility>
#include <vector>

namespace hone::rt {

/// The bounds of a rendering.
struct TemplateLimits {
  uint64_t work = 4'000'000;
  size_t output = 512 * 1024;
  size_t values = 1024 * 1024;
};

/// Why a rendering ended.
struct TemplateFault {
  std::string problem; ///< empty: it did not
  uint32_t line = 0;
  bool isRaised = false; ///< by raise_exception: the template's own words
};

/// Bytes of a text.
struct TextSpan {
  size_t begin, end;
};

class TemplateInterpreter {
public:
  using Variables = std::vector<std::pair<std::string, TemplateValue>>;

  /// Both must outlive this.
  TemplateInterpreter(const TemplateTree &tree, ValueMemory &memory,
                      TemplateLimits limits = {})
      : tree(tree), memory(memory), limits(limits) {
    work.most = limits.work;
  }

  /// Renders with `variables` into `out`, which is replaced.
  TemplateFault render(const Variables &variables, const TemplateDate &date,
                       std::string &out);

  /// The spans that the template marks by {% generation %}, in the text's
  /// order, none empty or inside of another. Marks in macros and in blocks that
  /// are set do not count, since that text may become anything. To be taken
  /// once.
  std::vector<TextSpan> takeGenerated() { return std::move(marked); }

private:
  using Value = TemplateValue;
  enum class Flow { Next, Break, Continue };
  struct Scope {
    size_t parent;
    std::vector<std::pair<uint32_t, Value>> variables; ///< by text's index
  };
  struct Loop {
    int64_t number; ///< its own among all, so that none stands for another
    Value list;
    size_t index;
  };

  // Faults are sticky: after one every value is undefined.
  bool ok() const { return fault.problem.empty(); }
  Value fail(const SyntaxNode &node, const std::string &problem);
  Value failOperand(const SyntaxNode &node, const char *operation,
                    const Value &value);
  bool step(const SyntaxNode &node, uint64_t amount = 1);
  /// Before `what` is looked for in `text`, at worst at each place of it.
  bool stepSearch(const SyntaxNode &node, const std::string &text,
                  const std::string &what);
  bool checkMemory(const SyntaxNode &node);
  Value checked(const SyntaxNode &node, Value value);
  Value makeString(const SyntaxNode &node, std::string text);
  Value makeList(const SyntaxNode &node, Value::List items,
                 Value::ListKind kind = Value::ListKind::List);

  const SyntaxNode &node(uint32_t index) const { return tree.nodes[index]; }
  const std::string &textOf(const SyntaxNode &node) const {
    return tree.texts[node.text];
  }
  /// The value of the i-th child; undefined when there is none.
  Value evalChild(const SyntaxNode &node, uint32_t i);

  // Statements.
  Flow run(uint32_t index);
  Flow runBlock(const SyntaxNode &block);
  Flow runIf(const SyntaxNode &node);
  Flow runFor(const SyntaxNode &node);
  void runSet(const SyntaxNode &node);
  void runFilterBlock(const SyntaxNode &node);
  Flow runWith(const SyntaxNode &node);
  bool capture(uint32_t block, std::string &out);
  void put(const SyntaxNode &node, std::string_view text);
  void mark(const SyntaxNode &node, size_t begin);
  void assign(uint32_t target, const Value &value);
  void assignAll(const SyntaxNode &node, uint32_t from, const Value &value);
  const Value *lookup(uint32_t name) const;
  void set(uint32_t name, Value value);
  void pushScope(size_t parent);
  void popScope() { scopes.pop_back(); }

  // Expressions.
  Value eval(uint32_t index);
  Value evalAny(const SyntaxNode &node);
  Value evalName(const SyntaxNode &node);
  Value evalItem(const SyntaxNode &node);
  Value evalSlice(const SyntaxNode &node);
  Value evalCompare(const SyntaxNode &node);
  bool compare(const SyntaxNode &node, TemplateComparison how,
               const Value &left, const Value &right);
  bool isEqual(const SyntaxNode &node, const Value &left, const Value &right);
  bool contains(const SyntaxNode &node, const Value &in, const Value &what);
  Value evalDict(const SyntaxNode &node);
  /// Compares two values that are both strings or both numbers: below 0, 0,
  /// above.
  bool orderOf(const SyntaxNode &node, const Value &left, const Value &right,
               int &order);

  // Numbers (TemplateNumbers.cpp).
  Value evalArithmetic(const SyntaxNode &node);
  Value arithmetic(const SyntaxNode &node, Syntax kind, const Value &left,
                   const Value &right);
  Value integerArithmetic(const SyntaxNode &node, Syntax kind, int64_t left,
                          int64_t right);
  Value realArithmetic(const SyntaxNode &node, Syntax kind, double left,
                       double right);
  Value failMarkup(const SyntaxNode &node);
  Value makeReal(const SyntaxNode &node, double value);
  bool toReal(const SyntaxNode &node, const Value &value, double &out);
  Value applyNumberFilter(const SyntaxNode &node, TemplateFilter filter,
                          const Value &value, const Value::List &arguments);

  // Lists as a whole (TemplateSequences.cpp).
  Value applySequenceFilter(const SyntaxNode &node, TemplateFilter filter,
                            const Value &value, const Value::List &arguments);
  Value sortItems(const SyntaxNode &node, Value::List items, bool reverse,
                  bool caseSensitive, const Value &attribute);
  bool putMember(const SyntaxNode &node, Value::Members &members,
                 const std::string &name, const Value &value);
  bool sortKey(const SyntaxNode &node, const Value &item,
               const Value &attribute, bool caseSensitive, Value &key);
  /// A field of a field, "a.b.0", as filters name them.
  Value memberAt(const SyntaxNode &node, const Value &item,
                 const std::string &path);
  Value formatPercent(const SyntaxNode &node, const std::string &text,
                      const Value::List &arguments);
  Value formatBraces(const SyntaxNode &node, const std::string &text,
                     const Value::List &arguments);
  Value evalConcatenation(const SyntaxNode &node);
  Value evalFunction(const SyntaxNode &node);
  Value evalMacro(const SyntaxNode &node);
  Value evalMember(const SyntaxNode &node, const Value &object,
                   const std::string &name);
  /// Null when it has ended.
  const Loop *findLoop(int64_t number) const;
  Value evalLoopField(const SyntaxNode &node, int64_t number,
                      const std::string &name);
  bool toText(const SyntaxNode &node, const Value &value, std::string &out);
  /// The items that a `for` or a filter goes through.
  bool toItems(const SyntaxNode &node, const Value &value, Value::List &out);

  // Filters, tests and methods (TemplateCalls.cpp).
  Value evalFilter(const SyntaxNode &node);
  Value::List evalArguments(const SyntaxNode &node);
  Value applyFilter(const SyntaxNode &node, TemplateFilter filter,
                    const Value &value, const Value::List &arguments);
  Value applyItemFilter(const SyntaxNode &node, TemplateFilter filter,
                        const Value &value);
  Value applyTextFilter(const SyntaxNode &node, TemplateFilter filter,
                        const Value &value, const Value::List &arguments);
  Value toJsonText(const SyntaxNode &node, const Value &value,
                   const Value::List &arguments);
  Value toInteger(const SyntaxNode &node, const Value &value,
                  const Value &orElse);
  Value evalMap(const SyntaxNode &node);
  Value evalSelect(const SyntaxNode &node);
  bool test(const SyntaxNode &node, TemplateTest test, const Value &value,
            const Value &argument);
  Value evalMethod(const SyntaxNode &node);
  Value stringMethod(const SyntaxNode &node, const Value &object,
                     const Value::List &arguments);
  Value makeParts(const SyntaxNode &node, const Value &object,
                  const MarkedText &text,
                  const std::vector<std::string_view> &parts);
  Value split(const SyntaxNode &node, const Value &object,
              const Value::List &arguments, bool fromEnd);
  Value hasEnd(const SyntaxNode &node, const std::string &text,
               const Value &ends, bool isStart);
  Value removeEnd(const SyntaxNode &node, const Value &object, const Value &end,
                  bool isStart);
  Value isAll(const SyntaxNode &node, std::string_view text,
              TemplateMethod method);
  Value dictMethod(const SyntaxNode &node, const Value &object,
                   const Value::List &arguments);
  Value strip(const SyntaxNode &node, const std::string &text, bool left,
              bool right, const Value &characters);
  Value replace(const SyntaxNode &node, const std::string &text,
                const Value::List &arguments);
  Value changeCaseOf(const SyntaxNode &node, const std::string &text,
                     LetterCase to);
  Value join(const SyntaxNode &node, const Value &list,
             const std::string &separator);
  Value indent(const SyntaxNode &node, const std::string &text,
               const Value::List &arguments);
  Value pairs(const SyntaxNode &node, const Value &dict,
              Value::ListKind kind = Value::ListKind::List);
  /// Of keys that differ in case only, the first stays first.
  Value sortedPairs(const SyntaxNode &node, const Value &dict);

  const TemplateTree &tree;
  ValueMemory &memory;
  TemplateLimits limits;
  TemplateWork work{0, 0};
  TemplateFault fault;
  TemplateDate date;
  std::vector<Scope> scopes;
  std::vector<Loop> loops;
  int64_t loopsBegun = 0;
  uint32_t loopName = 0;       ///< the text "loop"; 0: the template has none
  std::vector<Value> captured; ///< by blocks whose filters are computed
  std::string *output = nullptr, *rendered = nullptr;
  std::vector<TextSpan> marked;
  unsigned depth = 0;
};

} // namespace hone::rt
