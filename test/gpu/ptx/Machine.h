//===- Machine.h - Executes PTX and judges it -----------------------------===//
//
// A launch runs workgroup after workgroup and, between two barriers, warp after
// warp, in an order that the options give. An error is a fault, with kernel and
// line. A race is found in every order: the machine checks for a barrier
// between two accesses, never which came first.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "CaseFile.h"
#include "Memory.h"
#include "Program.h"

#include <deque>
#include <set>
#include <string_view>

namespace hone::ptx {

struct Fault {
  enum Kind {
    Race,             ///< of two threads of a workgroup
    RaceOfWorkgroups, ///< of two workgroups of a launch
    Unwritten,        ///< a read of unwritten memory
    OutOfBounds,
    Misaligned,
    DivergentBarrier,
    DivergentWarp, ///< lanes that an instruction needs do not take part
    NonCoherent,   ///< ld.global.nc of bytes that this launch writes
    Stuck,
    Trap,
  } kind = Race;
  std::string kernel;
  uint32_t line = 0;
  std::string message; ///< all of it, with kernel and line
};

/// `race`, `out of bounds` and their like.
const char *nameOf(Fault::Kind kind);

enum class Order { Ascending, Descending, Random };

struct Options {
  Order order = Order::Ascending; ///< of warps and of workgroups
  uint64_t seed = 0;              ///< of Random
  bool lanesOneByOne = false;
  bool countsBankConflicts = false;
  uint64_t memoryBytes = 16ull << 30;
  /// Instructions of a warp after which a workgroup is stuck.
  uint64_t instructionLimit = 20'000'000'000;
  unsigned faultLimit = 50;
  /// A barrier that is passed over: the kernel's name, and which from 0 on.
  std::string droppedKernel;
  unsigned droppedBarrier = 0;
  /// Where HONE_PTX_RECORD asks for it; of runs that are the same one is
  /// enough.
  bool isRecorded = true;
};

/// A kernel's counts, over all launches.
struct KernelCounts {
  uint64_t launches = 0, workgroups = 0;
  uint64_t sharedBytes = 0; ///< of a workgroup, at most
  uint64_t longestWarp = 0; ///< instructions of a warp in a workgroup, at most
  std::vector<uint64_t> executed;  ///< by instruction: how often by a warp
  std::vector<uint64_t> conflicts; ///< extra accesses to a bank, by instruction
  /// By instruction: lines of 128 bytes that a warp's copies read, each time
  /// for every line of shared memory that has some of it.
  std::vector<uint64_t> lines;
  std::vector<bool> needed; ///< by instruction: a barrier that was needed
};

struct Launch {
  const Module *module = nullptr;
  const Kernel *kernel = nullptr;
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  uint32_t dynamicShared = 0;
  std::vector<char> parameters;
  KernelCounts *counts = nullptr;
  uint32_t startTime = 0;
};

/// A device's limit.
constexpr uint32_t kMaxShared = 227 * 1024;

class Recorder;

class Machine {
public:
  ~Machine();
  /// Null: the system refuses the address ranges.
  static std::unique_ptr<Machine> create(const Options &options);

  /// Null: `error` has the line and the problem there.
  const Module *load(std::string_view text, std::string &error);
  void unload(const Module *module);

  /// `arguments`: an address for each parameter. False: `error` says why it
  /// does not begin, or a fault was found.
  bool launch(const Module &module, const Kernel &kernel,
              std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
              uint32_t dynamicShared, const void *const *arguments,
              std::string &error);

  /// Counts a launch that does nothing.
  void skip(const Module &module, const Kernel &kernel,
            std::array<uint32_t, 3> grid, uint32_t dynamicShared);

  Memory &memory() { return deviceMemory; }
  Options &options() { return settings; }
  const std::vector<Fault> &faults() const { return found; }
  void clearFaults();
  const std::map<std::pair<const Module *, std::string>, KernelCounts> &
  counts() const {
    return kernelCounts;
  }
  /// The counts as text; and the faults with them.
  std::string report() const;

  /// For the recording of the launches, if there is one: numbers of 2 or 4
  /// bytes from `address` on, by a reference.
  void expect(uint64_t address, uint8_t bytes,
              const std::vector<Near> &numbers);

  // For workgroups.
  void add(Fault fault, uint32_t otherLine);
  uint32_t tick() { return ++clock; }
  uint64_t random();

private:
  explicit Machine(const Options &options);
  /// Of a kernel, with one launch more.
  KernelCounts &countsOf(const Module &module, const Kernel &kernel,
                         uint32_t dynamicShared);

  Options settings;
  Memory deviceMemory;
  std::deque<Module> modules;
  std::map<std::pair<const Module *, std::string>, KernelCounts> kernelCounts;
  std::vector<Fault> found;
  std::string firstOfLaunch; ///< its first fault, known before or not
  std::set<std::tuple<int, std::string, uint32_t, uint32_t>> known;
  uint32_t clock = 0;
  uint64_t randomState = 0;
  std::unique_ptr<Recorder> recorder; ///< null: nobody asks
};

} // namespace hone::ptx
