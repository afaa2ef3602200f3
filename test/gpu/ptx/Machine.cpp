//===- Machine.cpp - Executes PTX and judges it ---------------------------===//

#include "Machine.h"

#include "Parser.h"
#include "Recorder.h"
#include "Workgroup.h"

#include <algorithm>
#include <numeric>

namespace hone::ptx {

const char *nameOf(Fault::Kind kind) {
  switch (kind) {
  case Fault::Race:
    return "race";
  case Fault::RaceOfWorkgroups:
    return "race of workgroups";
  case Fault::Unwritten:
    return "unwritten";
  case Fault::OutOfBounds:
    return "out of bounds";
  case Fault::Misaligned:
    return "misaligned";
  case Fault::DivergentBarrier:
    return "divergent barrier";
  case Fault::DivergentWarp:
    return "divergent warp";
  case Fault::NonCoherent:
    return "not coherent";
  case Fault::Stuck:
    return "stuck";
  case Fault::Trap:
    return "trap";
  }
  return "";
}

Machine::Machine(const Options &options)
    : settings(options),
      recorder(options.isRecorded ? Recorder::fromEnvironment() : nullptr) {}

Machine::~Machine() = default;

std::unique_ptr<Machine> Machine::create(const Options &options) {
  std::unique_ptr<Machine> machine(new Machine(options));
  machine->randomState = options.seed;
  if (!machine->deviceMemory.create(options.memoryBytes))
    return nullptr;
  return machine;
}

uint64_t Machine::random() { // splitmix64
  uint64_t z = randomState += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

const Module *Machine::load(std::string_view text, std::string &error) {
  modules.emplace_back();
  Module &module = modules.back();
  auto place = [&](uint64_t bytes, uint64_t alignment,
                   const std::vector<char> &initial) {
    const uint64_t address = deviceMemory.allocate(bytes, alignment);
    if (address) {
      memcpy(deviceMemory.data(address), initial.data(), bytes);
      deviceMemory.shadow().setWritten(deviceMemory.offset(address), bytes,
                                       true);
    }
    return address;
  };
  if (parse(text, place, module, error))
    return &module;
  unload(&module);
  return nullptr;
}

void Machine::unload(const Module *module) {
  for (uint64_t address : module->allocations)
    deviceMemory.free(address);
  // Counts name kernels of modules that are gone: only the text goes.
  for (Module &each : modules)
    if (&each == module)
      each.allocations.clear();
}

void Machine::add(Fault fault, uint32_t otherLine) {
  if (firstOfLaunch.empty())
    firstOfLaunch = fault.message;
  if (found.size() < settings.faultLimit &&
      known.insert({fault.kind, fault.kernel, fault.line, otherLine}).second)
    found.push_back(std::move(fault));
}

void Machine::clearFaults() {
  found.clear();
  known.clear();
}

static uint64_t product(std::array<uint32_t, 3> sizes) {
  return uint64_t(sizes[0]) * sizes[1] * sizes[2];
}

KernelCounts &Machine::countsOf(const Module &module, const Kernel &kernel,
                                uint32_t dynamicShared) {
  KernelCounts &counts = kernelCounts[{&module, kernel.name}];
  counts.executed.resize(kernel.code.size());
  counts.conflicts.resize(kernel.code.size());
  counts.lines.resize(kernel.code.size());
  counts.needed.resize(kernel.code.size());
  ++counts.launches;
  counts.sharedBytes = std::max(counts.sharedBytes,
                                kernel.sharedBytes + uint64_t(dynamicShared));
  return counts;
}

void Machine::skip(const Module &module, const Kernel &kernel,
                   std::array<uint32_t, 3> grid, uint32_t dynamicShared) {
  countsOf(module, kernel, dynamicShared).workgroups += product(grid);
}

bool Machine::launch(const Module &module, const Kernel &kernel,
                     std::array<uint32_t, 3> grid,
                     std::array<uint32_t, 3> block, uint32_t dynamicShared,
                     const void *const *arguments, std::string &error) {
  const uint64_t threads = product(block), groups = product(grid);
  const uint64_t allowed = product(kernel.maxThreads);
  auto refuse = [&](const std::string &why) {
    error = "kernel " + kernel.name + ": " + why;
    return false;
  };
  if (threads == 0 || threads > 1024 || groups == 0 || grid[1] > 65535 ||
      grid[2] > 65535 || grid[0] > 0x7fffffff)
    return refuse(
        "a workgroup has 1 to 1024 threads, and there is one or more");
  if (allowed && (threads > allowed ||
                  (kernel.requiresThreads && block != kernel.maxThreads)))
    return refuse(std::to_string(threads) + " threads where " +
                  std::to_string(allowed) + " are declared");
  if (kernel.sharedBytes + uint64_t(dynamicShared) > kMaxShared)
    return refuse("more shared memory than " + std::to_string(kMaxShared) +
                  " bytes");
  // Times are numbers of 32 bits: long before they end, they begin anew.
  if (clock > 0xc0000000u) {
    deviceMemory.shadow().forgetTimes();
    clock = 0;
  }
  Launch launch;
  launch.module = &module;
  launch.kernel = &kernel;
  launch.grid = grid;
  launch.block = block;
  launch.dynamicShared = dynamicShared;
  launch.parameters.resize(kernel.parameterBytes);
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    memcpy(launch.parameters.data() + kernel.parameters[i].offset, arguments[i],
           kernel.parameters[i].bytes);
  KernelCounts &counts = countsOf(module, kernel, dynamicShared);
  launch.counts = &counts;
  launch.startTime = clock + 1;

  firstOfLaunch.clear();
  if (recorder)
    recorder->begin(deviceMemory, modules);
  Workgroup group(*this, launch);
  std::vector<uint32_t> order;
  if (settings.order == Order::Random) {
    order.resize(groups);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = groups; i > 1; --i)
      std::swap(order[i - 1], order[random() % i]);
  }
  for (uint64_t i = 0; i < groups; ++i) {
    const uint64_t at = settings.order == Order::Random      ? order[i]
                        : settings.order == Order::Ascending ? i
                                                             : groups - 1 - i;
    ++counts.workgroups;
    if (!group.run({uint32_t(at % grid[0]), uint32_t(at / grid[0] % grid[1]),
                    uint32_t(at / grid[0] / grid[1])}))
      break;
  }
  error = firstOfLaunch;
  if (recorder && error.empty())
    recorder->end(deviceMemory, launch);
  return error.empty();
}

void Machine::expect(uint64_t address, uint8_t bytes,
                     const std::vector<Near> &numbers) {
  if (recorder)
    recorder->expect(deviceMemory, address, bytes, numbers);
}

std::string Machine::report() const {
  std::string text;
  for (const Fault &fault : found)
    text += "fault: " + fault.message + "\n";
  std::map<std::string, uint64_t> byOpcode;
  uint64_t barriers = 0, redundant = 0, conflicts = 0;
  for (const auto &[key, counts] : kernelCounts) {
    const Kernel *kernel = key.first->find(key.second);
    uint64_t instructions = 0;
    std::string notes;
    for (size_t i = 0; i < kernel->code.size(); ++i) {
      const Instruction &instruction = kernel->code[i];
      instructions += counts.executed[i];
      byOpcode[key.first->opcodes[instruction.opcode]] += counts.executed[i];
      if (counts.conflicts[i]) {
        conflicts += counts.conflicts[i];
        notes += "  line " + std::to_string(instruction.line) + ": " +
                 std::to_string(counts.conflicts[i]) + " bank conflicts in " +
                 std::to_string(counts.executed[i]) + " accesses\n";
      }
      if (instruction.kind == Kind::Barrier && counts.executed[i]) {
        ++barriers;
        redundant += !counts.needed[i];
        if (!counts.needed[i])
          notes += "  line " + std::to_string(instruction.line) +
                   ": no access needed this barrier\n";
      }
    }
    text += "kernel " + key.second + ": " + std::to_string(counts.launches) +
            " launches, " + std::to_string(counts.workgroups) +
            " workgroups, " + std::to_string(counts.sharedBytes) +
            " shared bytes, " + std::to_string(instructions) +
            " instructions of warps, at most " +
            std::to_string(counts.longestWarp) + " of one\n" + notes;
  }
  text += "barriers: " + std::to_string(barriers) +
          ", not needed: " + std::to_string(redundant) +
          "\nbank conflicts: " + std::to_string(conflicts) +
          "\nmost device memory: " + std::to_string(deviceMemory.peak()) +
          " bytes\n";
  std::vector<std::pair<uint64_t, std::string>> sorted;
  for (const auto &[opcode, count] : byOpcode)
    if (count)
      sorted.push_back({count, opcode});
  std::sort(sorted.rbegin(), sorted.rend());
  for (const auto &[count, opcode] : sorted)
    text += "instruction " + opcode + ": " + std::to_string(count) + "\n";
  return text;
}

} // namespace hone::ptx
