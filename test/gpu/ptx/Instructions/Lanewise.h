//===- Lanewise.h - Instructions that are a function of each lane ---------===//

#pragma once

#include "../Decoder.h"
#include "../Warp.h"

#include <type_traits>
#include <utility>

namespace hone::ptx {

/// The letter of a type's width in Operation::operands.
template <typename T> constexpr char letter() {
  return sizeof(T) == 2 ? 'h' : sizeof(T) == 4 ? 'w' : 'd';
}

template <typename Function, typename Result, typename... Operands,
          size_t... index>
void runLanewise(Warp &warp, const Instruction &instruction, uint32_t mask,
                 std::index_sequence<index...>) {
  Result results[kLanes];
  eachLane(mask, [&](unsigned lane) {
    results[lane] = Function::template of<Result>(
        warp.lanes<Operands>(instruction.operands[index + 1])[lane]...);
  });
  Result *to = warp.lanes<Result>(instruction.operands[0]);
  eachLane(mask, [&](unsigned lane) { to[lane] = results[lane]; });
}

template <typename Function, typename Result, typename... Operands>
void runLanewise(Warp &warp, const Instruction &instruction, uint32_t mask) {
  runLanewise<Function, Result, Operands...>(
      warp, instruction, mask, std::index_sequence_for<Operands...>());
}

/// Adds `opcode`, Result = Function::of<Result>(Operands...).
template <typename Function, typename Result, typename... Operands>
void addLanewise(Operations &table, const std::string &opcode) {
  static const char widths[] = {letter<Result>(), letter<Operands>()..., 0};
  table.add(opcode, widths, runLanewise<Function, Result, Operands...>);
}

template <typename T> using Unsigned = typename std::make_unsigned<T>::type;

/// The name of an integer's or a float's type in opcodes.
template <typename T> std::string nameOf() {
  const char *kind = std::is_floating_point<T>::value ? "f"
                     : std::is_signed<T>::value       ? "s"
                                                      : "u";
  return kind + std::to_string(8 * sizeof(T));
}

} // namespace hone::ptx
