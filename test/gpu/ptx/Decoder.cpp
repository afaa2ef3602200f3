//===- Decoder.cpp - A statement of PTX becomes an instruction ------------===//

#include "Decoder.h"

#include "ControlFlow.h"

#include <algorithm>

namespace hone::ptx {

std::vector<std::string_view> wordsOf(std::string_view opcode) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin <= opcode.size();) {
    const size_t end = std::min(opcode.find('.', begin), opcode.size());
    words.push_back(opcode.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

bool contains(const std::vector<std::string_view> &words,
              std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

const Operations &Operations::all() {
  static const Operations operations = [] {
    Operations table;
    addIntegerOperations(table);
    addBitOperations(table);
    addFloatOperations(table);
    addCompareOperations(table);
    addConvertOperations(table);
    addMoveOperations(table);
    addMemoryOperations(table);
    addCopyOperations(table);
    addExchangeOperations(table);
    addMatrixOperations(table);
    addGroupMatrixOperations(table);
    addControlOperations(table);
    return table;
  }();
  return operations;
}

const Operation *Operations::find(std::string_view opcode,
                                  std::string &why) const {
  auto row = table.find(std::string(opcode));
  if (row != table.end())
    return &row->second;
  const std::vector<std::string_view> words = wordsOf(opcode);
  for (std::string_view word : {"approx", "ftz", "full"})
    if (contains(words, word)) {
      why = "." + std::string(word) +
            " gives other bits on other devices; the exact form is wanted";
      return nullptr;
    }
  const bool isFloat = contains(words, "f32") || contains(words, "f64");
  if (words.size() == 2 && isFloat &&
      table.count(std::string(words[0]) + ".rn." + std::string(words[1]))) {
    why = "without .rn it may be fused with another instruction";
    return nullptr;
  }
  row = table.find(std::string(words[0]));
  if (row != table.end() && row->second.decode)
    return &row->second;
  return nullptr;
}

bool KernelBuilder::fail(uint32_t line, const std::string &what) {
  if (problem.empty())
    problem = "line " + std::to_string(line) + ": " + what;
  return false;
}

uint32_t KernelBuilder::allocate(unsigned width) {
  // Lanes of 16 bytes and more are read by vector instructions.
  const uint32_t bytes = width == 0 ? 4 : width * kLanes;
  const uint32_t alignment = width == 0 ? 4 : 64;
  const uint32_t place =
      (kernel.registerBytes + alignment - 1) / alignment * alignment;
  kernel.registerBytes = place + bytes;
  return place;
}

bool KernelBuilder::declareRegister(const std::string &name, unsigned width) {
  return scopes.back().insert({name, {allocate(width), width}}).second;
}

bool KernelBuilder::label(const std::string &name) {
  return labels.insert({name, uint32_t(kernel.code.size())}).second;
}

const KernelBuilder::Register *
KernelBuilder::findRegister(std::string_view name) const {
  const std::string key(name);
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    auto found = scope->find(key);
    if (found != scope->end())
      return &found->second;
  }
  return nullptr;
}

const Variable *KernelBuilder::findVariable(std::string_view name) const {
  auto found = variables.find(std::string(name));
  return found == variables.end() ? nullptr : &found->second;
}

bool KernelBuilder::special(std::string_view name, Register &result) {
  static const std::map<std::string_view, Special> names = {
      {"%tid.x", Special::TidX},
      {"%tid.y", Special::TidY},
      {"%tid.z", Special::TidZ},
      {"%ctaid.x", Special::CtaidX},
      {"%ctaid.y", Special::CtaidY},
      {"%ctaid.z", Special::CtaidZ},
      {"%ntid.x", Special::NtidX},
      {"%ntid.y", Special::NtidY},
      {"%ntid.z", Special::NtidZ},
      {"%nctaid.x", Special::NctaidX},
      {"%nctaid.y", Special::NctaidY},
      {"%nctaid.z", Special::NctaidZ},
      {"%laneid", Special::Lane},
      {"%warpid", Special::Warp},
      {"%dynamic_smem_size", Special::DynamicShared}};
  auto known = names.find(name);
  if (known == names.end())
    return false;
  auto [entry, isNew] = specials.insert({std::string(name), {}});
  if (isNew) {
    entry->second = {allocate(4), 4};
    kernel.specials.push_back({known->second, entry->second.place});
  }
  result = entry->second;
  return true;
}

uint32_t KernelBuilder::constant(unsigned width, uint64_t bits) {
  if (width == 0)
    bits = bits ? ~0u : 0;
  else if (width < 8)
    bits &= (1ull << 8 * width) - 1;
  auto [entry, isNew] = constantPlaces.insert({{width, bits}, 0});
  if (isNew) {
    entry->second = allocate(width);
    kernel.constants.push_back({entry->second, uint8_t(width), bits});
  }
  return entry->second;
}

uint32_t KernelBuilder::sink(unsigned width) {
  auto [entry, isNew] = sinks.insert({width, 0});
  if (isNew)
    entry->second = allocate(width);
  return entry->second;
}

bool KernelBuilder::place(const Statement &statement, const Operand &operand,
                          unsigned width, uint32_t &result) {
  auto wrong = [&](const std::string &what) {
    return fail(statement.line,
                "`" + std::string(statement.opcode) + "`: " + what);
  };
  auto bits = [](unsigned bytes) {
    return bytes ? std::to_string(8 * bytes) + " bits" : "a predicate";
  };
  switch (operand.kind) {
  case Operand::Sink:
    result = sink(width);
    return true;
  case Operand::Integer:
    result = constant(width, operand.bits);
    return true;
  case Operand::Float:
    if (operand.width != width)
      return wrong("a number of " + bits(operand.width) + " stands where " +
                   bits(width) + " are wanted");
    result = constant(width, operand.bits);
    return true;
  case Operand::Name: {
    Register found;
    if (const Register *declared = findRegister(operand.name)) {
      found = *declared;
    } else if (const Variable *variable = findVariable(operand.name)) {
      if (width != 4 && width != 8)
        return wrong("an address has 32 or 64 bits");
      result = constant(width, variable->address + operand.bits);
      return true;
    } else if (!special(operand.name, found)) {
      return wrong("`" + std::string(operand.name) + "` is not declared");
    }
    if (found.width != width)
      return wrong("`" + std::string(operand.name) + "` has " +
                   bits(found.width) + " where " + bits(width) + " are wanted");
    result = found.place;
    return true;
  }
  case Operand::Vector:
  case Operand::Address:
    break;
  }
  return wrong("an operand is no register and no number");
}

bool KernelBuilder::widePlace(const Statement &statement,
                              const Operand &operand, unsigned least,
                              uint32_t &result, uint8_t &width) {
  unsigned bytes = std::max(least, 2u);
  if (operand.kind == Operand::Name) {
    Register found;
    if (const Register *declared = findRegister(operand.name))
      bytes = declared->width;
    else if (special(operand.name, found))
      bytes = found.width;
    if (bytes < least)
      return fail(statement.line, "`" + std::string(statement.opcode) + "`: `" +
                                      std::string(operand.name) +
                                      "` is too narrow");
  } else if (operand.kind == Operand::Float) {
    bytes = operand.width;
  }
  width = uint8_t(bytes);
  return place(statement, operand, bytes, result);
}

bool KernelBuilder::address(const Statement &statement, const Operand &operand,
                            Instruction &instruction, unsigned index) {
  if (operand.kind != Operand::Address)
    return fail(statement.line, "`" + std::string(statement.opcode) +
                                    "`: an address in brackets is wanted");
  if (operand.name.empty()) { // a number alone
    instruction.operands[index] = constant(8, operand.bits);
    instruction.widths[index] = 8;
    return true;
  }
  Operand base;
  base.kind = Operand::Name;
  base.name = operand.name;
  instruction.immediate = int64_t(operand.bits);
  if (findVariable(operand.name)) {
    instruction.widths[index] = 8;
    return place(statement, base, 8, instruction.operands[index]);
  }
  if (!widePlace(statement, base, 4, instruction.operands[index],
                 instruction.widths[index]))
    return false;
  return true;
}

bool KernelBuilder::branch(const Statement &statement,
                           Instruction &instruction) {
  if (statement.operands.size() != 1 ||
      statement.operands[0].kind != Operand::Name)
    return fail(statement.line, "a branch has one label");
  branches.push_back(
      {uint32_t(kernel.code.size()), std::string(statement.operands[0].name)});
  instruction.kind = Kind::Branch;
  return true;
}

bool KernelBuilder::add(const Statement &statement, uint32_t location) {
  Instruction instruction;
  instruction.line = statement.line;
  instruction.location = location;
  auto [opcode, isNew] = opcodes.insert({std::string(statement.opcode), 0});
  if (isNew) {
    auto known =
        std::find(module.opcodes.begin(), module.opcodes.end(), opcode->first);
    opcode->second = uint32_t(known - module.opcodes.begin());
    if (known == module.opcodes.end())
      module.opcodes.push_back(opcode->first);
  }
  instruction.opcode = opcode->second;
  if (!statement.guard.empty()) {
    const Register *guard = findRegister(statement.guard);
    if (!guard || guard->width != 0)
      return fail(statement.line,
                  "`" + std::string(statement.guard) + "` is no predicate");
    instruction.guard = guard->place;
    instruction.guardNegated = statement.guardNegated;
  }

  std::string why;
  const Operation *operation = Operations::all().find(statement.opcode, why);
  if (!operation)
    return fail(statement.line, "`" + std::string(statement.opcode) +
                                    "` is not executed" +
                                    (why.empty() ? std::string() : ": " + why));
  if (operation->decode) {
    if (!operation->decode(*this, statement, instruction))
      return fail(statement.line,
                  "`" + std::string(statement.opcode) + "` is not executed");
  } else {
    const std::string_view widths = operation->operands;
    if (statement.operands.size() != widths.size())
      return fail(statement.line, "`" + std::string(statement.opcode) +
                                      "` has " + std::to_string(widths.size()) +
                                      " operands");
    for (size_t i = 0; i < widths.size(); ++i) {
      const unsigned width = widths[i] == 'p'   ? 0
                             : widths[i] == 'h' ? 2
                             : widths[i] == 'w' ? 4
                                                : 8;
      if (i == 0 && statement.operands[i].kind != Operand::Name &&
          statement.operands[i].kind != Operand::Sink)
        return fail(statement.line, "a result needs a register");
      if (statement.operands[i].negated)
        return fail(statement.line, "no operand here can be negated");
      if (!place(statement, statement.operands[i], width,
                 instruction.operands[i]))
        return false;
      instruction.widths[i] = uint8_t(width);
    }
    instruction.run = operation->run;
  }
  kernel.code.push_back(instruction);
  return true;
}

bool KernelBuilder::finish() {
  // A thread that runs past the last instruction ends there.
  Instruction end;
  end.kind = Kind::Exit;
  end.line = kernel.code.empty() ? kernel.line : kernel.code.back().line;
  auto known = std::find(module.opcodes.begin(), module.opcodes.end(), "ret");
  end.opcode = uint32_t(known - module.opcodes.begin());
  if (known == module.opcodes.end())
    module.opcodes.push_back("ret");
  kernel.code.push_back(end);
  for (const auto &[index, name] : branches) {
    auto target = labels.find(name);
    if (target == labels.end())
      return fail(kernel.code[index].line, "there is no label `" + name + "`");
    kernel.code[index].target = target->second;
  }
  findReconvergence(kernel.code);
  return true;
}

} // namespace hone::ptx
