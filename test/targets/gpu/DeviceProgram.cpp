//===- DeviceProgram.cpp - Compile tile IR and run it as PTX --------------===//
//
// See DeviceProgram.h.
//
//===----------------------------------------------------------------------===//

#include "test/targets/gpu/DeviceProgram.h"

#include "test/targets/TileProgram.h"

#include "device/Device.h"

#include <cstring>

using namespace hone;

/// Memory and kernels of the machine.
class DeviceProgram::PtxDevice final : public rt::Device {
public:
  explicit PtxDevice(const ptx::Options &options)
      : machine(ptx::Machine::create(options)) {}

  rt::Result<rt::DeviceMemory> allocate(uint64_t) override {
    return rt::DeviceMemory();
  }
  rt::Result<hone_frame> load(const hone_module &module,
                              const rt::MappedWeights &) override {
    loaded = &module;
    code = machine->load({module.device_code, size_t(module.device_code_bytes)},
                         error);
    if (!code)
      llvm::report_fatal_error(llvm::Twine("no PTX: ") + error);
    hone_frame frame = {};
    frame.device = handle();
    return frame;
  }
  void launch(uint32_t number, void *closure, int64_t count) override {
    const hone_kernel &kernel = loaded->kernels[number];
    std::vector<const void *> parameters;
    for (uint32_t i = 0; i < kernel.field_count; ++i)
      parameters.push_back(static_cast<char *>(closure) +
                           kernel.fields[i].offset);
    // No device takes an empty launch.
    if (count > 0 && error.empty())
      machine->launch(*code, *code->find(kernel.symbol),
                      {uint32_t(count), 1, 1}, {kernel.threads, 1, 1},
                      kernel.shared_bytes, parameters.data(), error);
  }
  void observe(rt::KernelObserver *) override {}
  bool isHostVisible() const override { return false; }
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
  void copy(char *, const char *, uint64_t) override {}
  rt::Status wait() override { return rt::Status::ok(); }

  std::unique_ptr<ptx::Machine> machine;
  std::string error;

private:
  void free(char *, uint64_t) override {}

  const hone_module *loaded = nullptr;
  const ptx::Module *code = nullptr;
};

DeviceProgram::DeviceProgram(llvm::StringRef ir, int64_t arenaBytes,
                             llvm::StringRef target,
                             const ptx::Options &options)
    : loaded(compileTiles(ir, target)), arenaBytes(arenaBytes) {
  ptx::Options settings = options;
  settings.memoryBytes = 1 << 28;
  device = std::make_unique<PtxDevice>(settings);
  frame = device->load(*loaded, {}).value();
}

DeviceProgram::~DeviceProgram() = default;

ptx::Machine &DeviceProgram::machine() { return *device->machine; }

std::string DeviceProgram::run(void *arena, int64_t rows) {
  device->error.clear();
  uint64_t address = device->machine->memory().allocate(arenaBytes);
  auto *start = reinterpret_cast<char *>(address);
  device->copyIn(start, arena, arenaBytes);
  frame.arena = frame.batch = frame.work = start;
  frame.rows = rows;
  loaded->schedules[0].items[0].run(&frame, nullptr);
  (void)device->copyOut(arena, start, arenaBytes);
  device->machine->memory().free(address);
  return device->error;
}
