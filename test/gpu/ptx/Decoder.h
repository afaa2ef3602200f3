//===- Decoder.h - A statement of PTX becomes an instruction --------------===//
//
// Instructions are rows of one table (Instructions/), by opcode: the widths of
// their operands and the functions that execute them. Those whose operands are
// more than places (memory, moves of vectors, matrices, control) have a
// decoder.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Program.h"

#include <string_view>
#include <unordered_map>

namespace hone::ptx {

struct Operand {
  enum Kind { Name, Integer, Float, Vector, Address, Sink } kind = Sink;
  std::string_view
      name;             ///< a register, a variable, a label; of an address, too
  uint64_t bits = 0;    ///< of a number; of an address, the offset
  unsigned width = 0;   ///< bytes of a Float
  bool negated = false; ///< `!%p`
  std::string_view also;      ///< the predicate of `%r|%p`
  std::vector<Operand> parts; ///< of a Vector
};

struct Statement {
  uint32_t line = 0;
  std::string_view guard; ///< empty: none
  bool guardNegated = false;
  std::string_view opcode;
  std::vector<Operand> operands;
};

/// A variable of the module or of the kernel.
struct Variable {
  Space space = Space::Global;
  uint64_t address = 0; ///< in its space; of a parameter its offset
  uint64_t bytes = 0;
};

/// The current kernel's data for the decoders.
class KernelBuilder {
public:
  KernelBuilder(Module &module, Kernel &kernel)
      : module(module), kernel(kernel) {}

  struct Register {
    uint32_t place = 0;
    unsigned width = 0; ///< bytes of a lane; 0: a predicate
  };

  void pushScope() { scopes.emplace_back(); }
  void popScope() { scopes.pop_back(); }
  bool declareRegister(const std::string &name, unsigned width);
  void declareVariable(const std::string &name, Variable variable) {
    variables[name] = variable;
  }
  bool label(const std::string &name);

  /// Appends the instruction. False: error() says why not.
  bool add(const Statement &statement, uint32_t location);
  /// Branches find their labels and where their lanes meet again.
  bool finish();

  const std::string &error() const { return problem; }
  bool fail(uint32_t line, const std::string &what);

  /// The place of an operand whose lanes have `width` bytes, 0 for predicates.
  bool place(const Statement &statement, const Operand &operand, unsigned width,
             uint32_t &result);
  /// As place(), of a register of any width from `least` on, which `width`
  /// gets.
  bool widePlace(const Statement &statement, const Operand &operand,
                 unsigned least, uint32_t &result, uint8_t &width);
  /// `[register + offset]` or `[variable + offset]`.
  bool address(const Statement &statement, const Operand &operand,
               Instruction &instruction, unsigned index);
  const Register *findRegister(std::string_view name) const;
  const Variable *findVariable(std::string_view name) const;
  uint32_t constant(unsigned width, uint64_t bits);
  /// A place that nobody reads.
  uint32_t sink(unsigned width);
  /// Places of an instruction that has more of them than operands: where they
  /// begin in Kernel::more.
  int64_t keep(const std::vector<uint32_t> &places) {
    const int64_t begin = int64_t(kernel.more.size());
    kernel.more.insert(kernel.more.end(), places.begin(), places.end());
    return begin;
  }
  bool branch(const Statement &statement, Instruction &instruction);

  const Kernel &decoded() const { return kernel; }

private:
  uint32_t allocate(unsigned width);
  bool special(std::string_view name, Register &result);

  Module &module;
  Kernel &kernel;
  std::vector<std::unordered_map<std::string, Register>> scopes{1};
  std::unordered_map<std::string, Variable> variables;
  std::unordered_map<std::string, uint32_t> labels;
  std::unordered_map<std::string, uint32_t> opcodes;
  std::map<std::pair<unsigned, uint64_t>, uint32_t> constantPlaces;
  std::map<unsigned, uint32_t> sinks;
  std::map<std::string, Register> specials;
  std::vector<std::pair<uint32_t, std::string>> branches;
  std::string problem;
};

/// Fills `instruction` from `statement`.
using DecodeFn = bool (*)(KernelBuilder &, const Statement &, Instruction &);

/// A row of the table. `operands` has a letter for each operand, the result
/// first: p predicate, h 16 bits, w 32, d 64.
struct Operation {
  const char *operands = nullptr;
  Handler run = nullptr;
  DecodeFn decode = nullptr; ///< instead of both
};

/// By whole opcode, and decoders by the opcode's first word.
class Operations {
public:
  static const Operations &all();

  void add(const std::string &opcode, const char *operands, Handler run) {
    table[opcode] = {operands, run, nullptr};
  }
  void add(const std::string &word, DecodeFn decode) {
    table[word] = {nullptr, nullptr, decode};
  }
  /// Null: no machine executes it; `why` has the reason if it is known.
  const Operation *find(std::string_view opcode, std::string &why) const;

private:
  std::unordered_map<std::string, Operation> table;
};

/// The words between an opcode's dots.
std::vector<std::string_view> wordsOf(std::string_view opcode);
bool contains(const std::vector<std::string_view> &words,
              std::string_view word);

void addIntegerOperations(Operations &table);
void addBitOperations(Operations &table);
void addFloatOperations(Operations &table);
void addCompareOperations(Operations &table);
void addConvertOperations(Operations &table);
void addMoveOperations(Operations &table);
void addMemoryOperations(Operations &table);
void addCopyOperations(Operations &table);
void addExchangeOperations(Operations &table);
void addMatrixOperations(Operations &table);
void addGroupMatrixOperations(Operations &table);
void addControlOperations(Operations &table);

} // namespace hone::ptx
