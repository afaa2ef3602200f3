//===- Driver.cpp - The device of this libcuda.so.1 -----------------------===//

#include "Driver.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace hone::ptx {

Driver &Driver::get() {
  // Never destroyed: programs end while streams are alive.
  static Driver *driver = [] {
    auto *made = new Driver;
    atexit([] { Driver::get().writeReport(); });
    return made;
  }();
  return *driver;
}

Machine *Driver::machine() {
  if (!device)
    device = Machine::create(options.machine);
  return device.get();
}

bool Driver::reserve(uint64_t bytes) {
  if (memory().used() + bytes > memory().capacity())
    return false;
  reserved = bytes;
  return true;
}

uint64_t Driver::freeBytes() {
  return memory().capacity() -
         std::min(memory().capacity(), memory().used() + reserved);
}

cuda::Code Driver::allocate(cuda::Address &address, uint64_t bytes) {
  if (++allocations == options.refusedAllocation)
    return cuda::kOutOfMemory;
  if (bytes == 0)
    return cuda::kInvalidValue;
  address = bytes <= freeBytes() ? memory().allocate(bytes) : 0;
  if (!address)
    return cuda::kOutOfMemory;
  deviceBytes += bytes;
  return cuda::kSuccess;
}

cuda::Code Driver::allocateHost(void *&address, uint64_t bytes) {
  address = bytes ? aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : nullptr;
  if (!address)
    return bytes ? cuda::kOutOfMemory : cuda::kInvalidValue;
  pinned[static_cast<char *>(address)] = bytes;
  pinnedBytes += bytes;
  return cuda::kSuccess;
}

bool Driver::freeHost(void *address) {
  auto found = pinned.find(static_cast<char *>(address));
  if (found == pinned.end())
    return false;
  pinned.erase(found);
  ::free(address);
  return true;
}

bool Driver::isPinned(const void *address) const {
  const char *byte = static_cast<const char *>(address);
  auto after = pinned.upper_bound(byte);
  if (after == pinned.begin())
    return false;
  --after;
  return uint64_t(byte - after->first) < after->second;
}

void Driver::enqueue(std::function<void()> work) {
  queue.push_back(std::move(work));
}

cuda::Code Driver::flush(bool waits) {
  hostWaits += !queue.empty();
  while (!queue.empty() && !isStuck) {
    std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    if (sticky == cuda::kSuccess)
      work();
  }
  if (isStuck && waits)
    for (;;)
      sleep(1);
  return isStuck ? cuda::kNotReady : sticky;
}

/// A barrier that is not there would be dropped from nothing.
static void checkDropped(const Module &module, const Options &options) {
  if (options.droppedKernel.empty())
    return;
  const Kernel *kernel = module.find(options.droppedKernel);
  unsigned barriers = 0;
  if (kernel)
    for (const Instruction &each : kernel->code)
      barriers += each.kind == Kind::Barrier;
  if (options.droppedBarrier < barriers)
    return;
  fprintf(stderr, "HONE_PTX_DROP: kernel %s has %u barriers\n",
          options.droppedKernel.c_str(), barriers);
  exit(2);
}

const Module *Driver::load(std::string_view text, std::string &log) {
  const Module *module = machine()->load(text, log);
  if (!module)
    return nullptr;
  // sm_90a runs on 90 alone.
  const int wanted = module->target.compare(0, 3, "sm_") == 0
                         ? atoi(module->target.c_str() + 3)
                         : 0;
  if (wanted == 0 || wanted > options.capability ||
      (module->target.back() == 'a' && wanted != options.capability))
    log = ".target " + module->target + " on a device of capability " +
          std::to_string(options.capability / 10) + "." +
          std::to_string(options.capability % 10);
  else {
    checkDropped(*module, options.machine);
    return module;
  }
  machine()->unload(module);
  return nullptr;
}

void Driver::launch(const Module *module, const Kernel *kernel,
                    std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
                    uint32_t shared, std::vector<char> arguments,
                    std::vector<size_t> offsets) {
  enqueue([=] {
    ++launches;
    if (launches == options.lostLaunch) {
      sticky = cuda::kLaunchFailed;
      return;
    }
    if (launches == options.stuckLaunch) {
      isStuck = true;
      return;
    }
    if (options.skipsKernels) {
      machine()->skip(*module, *kernel, grid, shared);
      return;
    }
    std::vector<const void *> pointers;
    for (size_t offset : offsets)
      pointers.push_back(arguments.data() + offset);
    const size_t before = machine()->faults().size();
    std::string error;
    if (machine()->launch(*module, *kernel, grid, block, shared,
                          pointers.data(), error))
      return;
    if (machine()->faults().size() == before) {
      fprintf(stderr, "ptx: %s\n", error.c_str());
      sticky = cuda::kInvalidValue;
      return;
    }
    for (size_t i = before; i < machine()->faults().size(); ++i)
      fprintf(stderr, "ptx: %s\n", machine()->faults()[i].message.c_str());
    switch (machine()->faults()[before].kind) {
    case Fault::OutOfBounds:
      sticky = cuda::kIllegalAddress;
      break;
    case Fault::Misaligned:
      sticky = cuda::kMisalignedAddress;
      break;
    case Fault::Stuck:
      sticky = cuda::kLaunchTimeout;
      break;
    default:
      sticky = cuda::kLaunchFailed;
    }
  });
}

void Driver::writeReport() {
  if (options.reportFile.empty() || !device)
    return;
  FILE *file = fopen(options.reportFile.c_str(), "w");
  if (!file)
    return;
  fprintf(file,
          "%slaunches: %llu\nallocations: %llu\ndevice bytes: %llu\n"
          "pinned bytes: %llu\nreserved bytes: %llu\nwaits: %llu\n",
          device->report().c_str(), (unsigned long long)launches,
          (unsigned long long)allocations, (unsigned long long)deviceBytes,
          (unsigned long long)pinnedBytes, (unsigned long long)reserved,
          (unsigned long long)hostWaits);
  fclose(file);
}

} // namespace hone::ptx
