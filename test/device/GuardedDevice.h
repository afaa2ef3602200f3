//===- GuardedDevice.h - A device whose memory nobody else can touch ------===//
//
// Kernels run on the host's processor, but arena, scratch and weights are
// mapped without any permission outside of kernels and copies: code that
// passes by the device crashes, host code of entries included.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "device/Device.h"
#include "threads/Pool.h"

#include <cstring>
#include <map>
#include <sys/mman.h>
#include <vector>

namespace hone::test {

class GuardedDevice final : public rt::Device {
public:
  explicit GuardedDevice(rt::Pool &pool) : pool(pool) {}

  uint64_t copiedIn = 0, copiedOut = 0; ///< how often
  uint64_t fetches = 0;                 ///< of several copies at once

  bool isHostVisible() const override { return false; }

  rt::Result<rt::DeviceMemory> allocate(uint64_t bytes) override {
    if (bytes == 0)
      return rt::DeviceMemory();
    void *base =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
      return rt::Status(rt::ErrorCode::NoMemory, "guarded", "full", "");
    regions[static_cast<char *>(base)] = bytes;
    return rt::DeviceMemory(*this, static_cast<char *>(base), bytes);
  }

  rt::Result<hone_frame> load(const hone_module &module,
                              const rt::MappedWeights &weights) override {
    scratch = std::move(
        allocate(module.thread_bytes * uint64_t(pool.threads())).value());
    for (uint32_t i = 0; i < module.weight_count; ++i) {
      const uint64_t bytes = bytesOf(module.weights[i]);
      uploads.push_back(std::move(allocate(bytes).value()));
      copyIn(uploads.back().address(), weights.addresses[i], bytes);
      table.push_back(uploads.back().address());
    }
    kernels = module.kernels;
    hone_frame frame = {};
    frame.device = handle();
    frame.thread_scratch = scratch.address();
    frame.weights = table.data();
    return frame;
  }

  void copyIn(char *to, const void *from, uint64_t bytes) override {
    ++copiedIn;
    open([&] { memcpy(to, from, bytes); });
  }
  rt::Status copyOut(void *to, const char *from, uint64_t bytes) override {
    ++copiedOut;
    open([&] { memcpy(to, from, bytes); });
    return rt::Status::ok();
  }
  rt::Status copyAllOut(const std::vector<rt::CopyOut> &copies) override {
    ++fetches;
    return Device::copyAllOut(copies);
  }
  void copy(char *to, const char *from, uint64_t bytes) override {
    open([&] { memmove(to, from, bytes); });
  }
  void launch(uint32_t kernel, void *closure, int64_t count) override {
    open([&] { pool.run(kernels[kernel].task, closure, count); });
  }
  void observe(rt::KernelObserver *) override {}
  rt::Status wait() override { return rt::Status::ok(); }

private:
  static uint64_t bytesOf(const hone_weight &weight) {
    uint64_t bytes = weight.dtype == HONE_U8     ? 1
                     : weight.dtype == HONE_BF16 ? 2
                     : weight.dtype == HONE_F64  ? 8
                                                 : 4;
    for (uint32_t i = 0; i < weight.rank; ++i)
      bytes *= uint64_t(weight.shape[i]);
    return bytes;
  }

  void free(char *address, uint64_t bytes) override {
    regions.erase(address);
    munmap(address, bytes);
  }

  template <typename Access> void open(Access access) {
    protect(PROT_READ | PROT_WRITE);
    access();
    protect(PROT_NONE);
  }
  void protect(int protection) {
    for (auto [base, bytes] : regions)
      if (mprotect(base, bytes, protection) != 0)
        abort();
  }

  rt::Pool &pool;
  const hone_kernel *kernels = nullptr;
  std::map<char *, uint64_t> regions;
  std::vector<const void *> table;
  std::vector<rt::DeviceMemory> uploads;
  rt::DeviceMemory scratch;
};

} // namespace hone::test
