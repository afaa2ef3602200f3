//===- TemplateSyntax.h - A chat template as a tree -----------------------===//
//
// The subset of Jinja that chat templates are written in. Names of filters,
// tests, functions and methods are resolved when a template is parsed; an
// unsupported construct is a node that fails when it is computed. Nodes lie in
// one vector and name their children by index; index 0 is no node.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone::rt {

/// In brackets the children; `?` may be 0, `*` any number.
enum class Syntax : uint8_t {
  // Statements.
  Block,       ///< [statement*]
  Text,        ///< text
  Output,      ///< [value]
  If,          ///< [condition, block, (condition, block)*, block?]
  For,         ///< [list, block, else?, filter?, target, target*]
  Set,         ///< [value, target, target*]
  SetBlock,    ///< [block, target, value of Captured?]
  FilterBlock, ///< [block, value of Captured]
  With,        ///< [block, (Keyword)*]
  Macro,       ///< text [block, Parameter*]
  Generation,  ///< [block]: an assistant's text
  Break,
  Continue,
  // Parts of statements.
  Parameter,      ///< text [default?]
  NamespaceField, ///< text: the namespace; number: text of the field
  Keyword,        ///< text [value]
  // Expressions.
  Refused,  ///< text: the unsupported construct
  Captured, ///< the text of the block at hand
  None,
  Boolean,    ///< number
  Integer,    ///< number
  Float,      ///< text
  String,     ///< text
  Name,       ///< text
  List,       ///< [value*]
  Dict,       ///< [key, value, ...]
  Attribute,  ///< text [object]
  Item,       ///< [object, index]
  Slice,      ///< [object, begin?, end?, step?]
  Filter,     ///< number: TemplateFilter; [value, argument?*]
  Test,       ///< number: TemplateTest; [value, argument?]
  Select,     ///< number: TemplateTest; text: attribute or empty;
              ///< what: whether those that pass are kept; [list, argument?]
  MapField,   ///< text [list]
  MapFilter,  ///< number: TemplateFilter; [list, argument?*]
  Function,   ///< number: TemplateFunction; [argument?*]
  MacroCall,  ///< text [argument*, Keyword*]
  Method,     ///< number: TemplateMethod; [object, argument?*]
  Not,        ///< [value]
  Negate,     ///< [value]
  And,        ///< [left, right]
  Or,         ///< [left, right]
  Compare,    ///< [left, Comparison*]
  Comparison, ///< what: TemplateComparison; [right]
  Add,        ///< [left, right], as those that follow
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
  Concatenate, ///< [value*]
  Conditional, ///< [condition, value, otherwise?]
};

enum class TemplateComparison : uint8_t {
  Equal,
  NotEqual,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  In,
  NotIn
};

enum class TemplateFilter : uint8_t {
  Trim,
  Length,
  Join,
  ToJson,
  Upper,
  Lower,
  Capitalize,
  Title,
  Default,
  First,
  Last,
  List,
  String,
  Int,
  Replace,
  Reverse,
  Items,
  DictSort,
  Indent,
  Safe,
  Float,
  Abs,
  Round,
  Unique,
  Sort,
  Sum,
  Min,
  Max,
  Format,
  Count
};

enum class TemplateTest : uint8_t {
  Defined,
  Undefined,
  None,
  String,
  Mapping,
  Iterable,
  Sequence,
  Number,
  Integer,
  Float,
  Boolean,
  True,
  False,
  Equal,
  NotEqual,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  In,
  Odd,
  Even,
  DivisibleBy,
  LowerCase,
  UpperCase,
  Callable,
  Truth,
  Count
};

enum class TemplateFunction : uint8_t {
  RaiseException,
  StrftimeNow,
  Namespace,
  Dict,
  Range,
  Count
};

enum class TemplateMethod : uint8_t {
  Strip,
  LStrip,
  RStrip,
  Split,
  RSplit,
  SplitLines,
  StartsWith,
  EndsWith,
  Replace,
  Upper,
  Lower,
  Capitalize,
  Title,
  Join,
  Find,
  CountOf,
  RemovePrefix,
  RemoveSuffix,
  Items,
  Keys,
  Values,
  Get,
  Cycle,
  Format,
  IsDigit,
  IsAlpha,
  IsSpace,
  Count
};

struct SyntaxNode {
  Syntax kind = Syntax::None;
  uint8_t what = 0;
  uint16_t depth = 1; ///< levels of nodes below and including this one
  uint32_t line = 0;  ///< from 1
  uint32_t text = 0;  ///< index in TemplateTree::texts
  uint32_t first = 0; ///< of its children, in TemplateTree::children
  uint32_t count = 0; ///< of its children
  int64_t number = 0;
};

struct TemplateTree {
  std::vector<SyntaxNode> nodes;
  std::vector<uint32_t> children;
  std::vector<std::string> texts; ///< each once: a name is its index
  uint32_t root = 0;

  uint32_t child(const SyntaxNode &node, uint32_t i) const {
    return i < node.count ? children[node.first + i] : 0;
  }
};

} // namespace hone::rt
