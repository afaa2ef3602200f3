//===- Program.h - PTX text, decoded --------------------------------------===//
//
// A register is 32 lanes one after another in its warp's register file, a
// predicate a mask of 32 bits there, and a constant is a register that nobody
// writes: an operand is a place in that file, whatever the text had.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hone::ptx {

class Warp;
struct Instruction;

constexpr unsigned kLanes = 32;
constexpr uint32_t kNone = ~0u;

/// Executes an instruction for the lanes in `mask`, which is never 0.
using Handler = void (*)(Warp &, const Instruction &, uint32_t mask);

/// Where an address points to. Generic: the address itself says.
enum class Space : uint8_t { Generic, Global, Shared, Local, Param };

/// Addresses of the shared and the local window in the generic space. Those of
/// the host begin with 16 equal bits, so neither can be used there.
constexpr uint64_t kSharedWindow = 0x5a00'0000'0000'0000;
constexpr uint64_t kLocalWindow = 0x5b00'0000'0000'0000;
constexpr uint64_t kWindowBytes = 1ull << 32;

/// The instructions of the warp's loop itself; all others are Data.
enum class Kind : uint8_t { Data, Branch, Exit, Barrier };

struct Instruction {
  Handler run = nullptr;
  std::array<uint32_t, 16> operands = {}; ///< places in the register file
  /// Bytes of a lane of each of the first operands, where a handler asks.
  std::array<uint8_t, 16> widths = {};
  int64_t immediate = 0; ///< offset of an address, or another number
  uint32_t guard = kNone;
  bool guardNegated = false;
  Kind kind = Kind::Data;
  /// Lanes exchange values, or wait for each other.
  bool warpWide = false;
  Space space = Space::Generic;
  uint8_t elementBytes = 0; ///< of a memory access
  uint8_t elements = 0;
  bool isSigned = false;
  bool isNonCoherent = false;
  uint32_t target = 0;            ///< of a branch
  uint32_t reconvergence = kNone; ///< where its lanes meet again
  uint32_t line = 0;              ///< in the text, from 1
  uint32_t location = 0;          ///< of Module::locations
  uint32_t opcode = 0;            ///< of Module::opcodes
};

struct Parameter {
  std::string name;
  uint32_t offset = 0, bytes = 0, alignment = 1;
};

/// A value that every lane of a place has from the start.
struct Constant {
  uint32_t place = 0;
  uint8_t width = 0; ///< bytes of a lane; 0: a predicate's mask
  uint64_t bits = 0;
};

enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NtidX,
  NtidY,
  NtidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  Lane,
  Warp,
  DynamicShared
};

struct Kernel {
  std::string name;
  uint32_t line = 0;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0;
  std::vector<Instruction> code;
  std::vector<Constant> constants;
  std::vector<uint32_t> more; ///< places, see KernelBuilder::keep
  std::vector<std::pair<Special, uint32_t>> specials; ///< and their places
  uint32_t registerBytes = 0;
  uint32_t sharedBytes = 0; ///< without a launch's own
  uint32_t localBytes = 0;
  std::array<uint32_t, 3> maxThreads = {}; ///< .maxntid; 0: any
  bool requiresThreads = false;            ///< .reqntid
};

struct Module {
  std::string name, target;
  unsigned version = 0; ///< 80 for 8.0
  std::vector<std::string> lines;
  std::vector<std::string> opcodes;
  std::vector<std::string> locations; ///< "file:line"; the first is empty
  std::vector<Kernel> kernels;
  std::map<std::string, uint64_t> globals; ///< addresses
  std::vector<uint64_t> allocations;       ///< that hold them

  const Kernel *find(const std::string &name) const {
    for (const Kernel &kernel : kernels)
      if (kernel.name == name)
        return &kernel;
    return nullptr;
  }
};

} // namespace hone::ptx
