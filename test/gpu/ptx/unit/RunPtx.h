//===- RunPtx.h - Kernels of a few lines, for tests -----------------------===//

#pragma once

#include "../Machine.h"

#include <cstring>
#include <gtest/gtest.h>
#include <initializer_list>

namespace hone::ptx {

/// A machine with one kernel `k`, whose parameters are addresses.
class RunPtx {
public:
  explicit RunPtx(const std::string &text, Options options = Options()) {
    if (options.memoryBytes == Options().memoryBytes)
      options.memoryBytes = 1 << 26;
    machine = Machine::create(options);
    module = machine->load(text, error);
    EXPECT_TRUE(module) << error;
  }

  /// A module of one kernel with these parameters (`.param .u64 a`, ...).
  static std::string kernel(const std::string &parameters,
                            const std::string &body) {
    return ".version 8.0\n.target sm_80\n.address_size 64\n"
           ".visible .entry k(" +
           parameters + ")\n{\n" + body + "ret;\n}\n";
  }

  uint64_t allocate(uint64_t bytes) {
    return machine->memory().allocate(bytes);
  }
  template <typename T> uint64_t upload(const std::vector<T> &values) {
    const uint64_t bytes = values.size() * sizeof(T);
    const uint64_t address = allocate(bytes);
    Memory &memory = machine->memory();
    memcpy(memory.data(address), values.data(), bytes);
    memory.shadow().setWritten(memory.offset(address), bytes, true);
    return address;
  }
  template <typename T>
  std::vector<T> download(uint64_t address, size_t count) {
    std::vector<T> values(count);
    memcpy(values.data(), machine->memory().data(address), count * sizeof(T));
    return values;
  }

  bool launch(std::initializer_list<uint64_t> arguments, uint32_t groups = 1,
              uint32_t threads = 32, uint32_t dynamicShared = 0) {
    std::vector<const void *> pointers;
    for (const uint64_t &argument : arguments)
      pointers.push_back(&argument);
    const Kernel *k = module->find("k");
    if (!k)
      return false;
    return machine->launch(*module, *k, {groups, 1, 1}, {threads, 1, 1},
                           dynamicShared, pointers.data(), error);
  }

  std::unique_ptr<Machine> machine;
  const Module *module = nullptr;
  std::string error;
};

} // namespace hone::ptx
