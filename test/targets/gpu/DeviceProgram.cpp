//===- DeviceProgram.cpp - Compile tile IR and run a device's text of it --===//
//
// See DeviceProgram.h.
//
//===----------------------------------------------------------------------===//

#include "test/targets/gpu/DeviceProgram.h"

#include "test/gpu/metal/Library.h"
#include "test/targets/TileProgram.h"

#include "device/Device.h"

#include <cstring>

using namespace hone;

/// Executes launches one after another, until one fails.
class DeviceProgram::TextDevice : public rt::Device {
public:
  /// The caller writes all of the memory.
  virtual char *reserve(uint64_t bytes) = 0;
  virtual void release(char *memory) = 0;

  rt::Result<rt::DeviceMemory> allocate(uint64_t) override {
    return rt::DeviceMemory();
  }
  rt::Result<hone_frame> load(const hone_module &module,
                              const rt::MappedWeights &) override {
    loaded = &module;
    if (!compile({module.device_code, size_t(module.device_code_bytes)}))
      llvm::report_fatal_error(llvm::Twine("no device code: ") + error);
    hone_frame frame = {};
    frame.device = handle();
    return frame;
  }
  void launch(uint32_t number, void *closure, int64_t count) override {
    // No device takes an empty launch.
    if (count > 0 && error.empty())
      execute(loaded->kernels[number], static_cast<char *>(closure),
              uint32_t(count));
  }
  void observe(rt::KernelObserver *) override {}
  bool isHostVisible() const override { return false; }
  void copy(char *, const char *, uint64_t) override {}
  rt::Status wait() override { return rt::Status::ok(); }

  std::string error;

private:
  /// Each fails with an error.
  virtual bool compile(std::string_view text) = 0;
  virtual void execute(const hone_kernel &kernel, char *closure,
                       uint32_t groups) = 0;
  void free(char *, uint64_t) override {}

  const hone_module *loaded = nullptr;
};

class DeviceProgram::PtxDevice final : public TextDevice {
public:
  explicit PtxDevice(const ptx::Options &options)
      : machine(ptx::Machine::create(options)) {}

  char *reserve(uint64_t bytes) override {
    return reinterpret_cast<char *>(machine->memory().allocate(bytes));
  }
  void release(char *memory) override {
    machine->memory().free(reinterpret_cast<uint64_t>(memory));
  }
  void copyIn(char *to, const void *from, uint64_t bytes) override {
    ptx::Memory &memory = machine->memory();
    auto address = reinterpret_cast<uint64_t>(to);
    memcpy(memory.data(address), from, bytes);
    memory.shadow().setWritten(memory.offset(address), bytes, true);
  }
  rt::Status copyOut(void *to, const char *from, uint64_t bytes) override {
    memcpy(to, machine->memory().data(reinterpret_cast<uint64_t>(from)), bytes);
    return rt::Status::ok();
  }

  std::unique_ptr<ptx::Machine> machine;

private:
  bool compile(std::string_view text) override {
    code = machine->load(text, error);
    return code != nullptr;
  }
  void execute(const hone_kernel &kernel, char *closure,
               uint32_t groups) override {
    std::vector<const void *> parameters;
    for (uint32_t i = 0; i < kernel.field_count; ++i)
      parameters.push_back(closure + kernel.fields[i].offset);
    machine->launch(*code, *code->find(kernel.symbol), {groups, 1, 1},
                    {kernel.threads, 1, 1}, kernel.shared_bytes,
                    parameters.data(), error);
  }

  const ptx::Module *code = nullptr;
};

class DeviceProgram::MetalDevice final : public TextDevice {
public:
  explicit MetalDevice(ptx::Order order)
      : order(order == ptx::Order::Ascending    ? metal::Order::Ascending
              : order == ptx::Order::Descending ? metal::Order::Descending
                                                : metal::Order::Random) {}

  char *reserve(uint64_t bytes) override {
    return static_cast<char *>(aligned_alloc(256, llvm::alignTo(bytes, 256)));
  }
  void release(char *memory) override { ::free(memory); }
  void copyIn(char *to, const void *from, uint64_t bytes) override {
    memcpy(to, from, bytes);
  }
  rt::Status copyOut(void *to, const char *from, uint64_t bytes) override {
    memcpy(to, from, bytes);
    return rt::Status::ok();
  }

private:
  bool compile(std::string_view text) override {
    library = metal::Library::compile(text, error);
    return library != nullptr;
  }
  void execute(const hone_kernel &kernel, char *closure,
               uint32_t groups) override {
    error =
        library->launch(*library->find(kernel.symbol), groups, kernel.threads,
                        closure, kernel.shared_bytes, order);
  }

  const metal::Order order;
  std::shared_ptr<metal::Library> library;
};

DeviceProgram::DeviceProgram(llvm::StringRef ir, int64_t arenaBytes,
                             llvm::StringRef target,
                             const ptx::Options &options)
    : loaded(compileTiles(ir, target)), arenaBytes(arenaBytes) {
  ptx::Options settings = options;
  settings.memoryBytes = 1 << 28;
  if (target == "metal")
    device = std::make_unique<MetalDevice>(options.order);
  else
    device = std::make_unique<PtxDevice>(settings);
  frame = device->load(*loaded, {}).value();
}

DeviceProgram::~DeviceProgram() = default;

ptx::Machine &DeviceProgram::machine() {
  return *static_cast<PtxDevice &>(*device).machine;
}

uint64_t DeviceProgram::bankConflicts() {
  uint64_t all = 0;
  for (const auto &[key, counts] : machine().counts())
    for (uint64_t conflicts : counts.conflicts)
      all += conflicts;
  return all;
}

std::string DeviceProgram::run(void *arena, int64_t rows) {
  device->error.clear();
  char *start = device->reserve(arenaBytes);
  device->copyIn(start, arena, arenaBytes);
  frame.arena = frame.batch = frame.work = start;
  frame.rows = rows;
  loaded->schedules[0].items[0].run(&frame, nullptr);
  (void)device->copyOut(arena, start, arenaBytes);
  for (const Expected &each : expected)
    machine().expect(reinterpret_cast<uint64_t>(start + each.offset),
                     each.bytes, each.numbers);
  expected.clear();
  device->release(start);
  return device->error;
}

void DeviceProgram::expect(int64_t offset, uint8_t bytes,
                           std::vector<ptx::Near> numbers) {
  expected.push_back({offset, bytes, std::move(numbers)});
}

uint64_t hone::executionsOf(const ptx::Machine &machine,
                            llvm::StringRef opcode) {
  uint64_t all = 0;
  for (const auto &[key, counts] : machine.counts()) {
    const ptx::Kernel &kernel = *key.first->find(key.second);
    for (size_t i = 0; i < kernel.code.size(); ++i) {
      llvm::StringRef line = key.first->lines[kernel.code[i].line - 1];
      if (line.trim().starts_with(opcode))
        all += counts.executed[i];
    }
  }
  return all;
}
