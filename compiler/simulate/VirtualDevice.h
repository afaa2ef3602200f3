//===- VirtualDevice.h - A device that knows only times -------------------===//
//
// A launch takes the program's time and computes nothing. Memory is there, so
// that numbers of the host have places, and becomes resident where the host
// writes to it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/simulate/Programs.h"
#include "device/Device.h"

#include <vector>

namespace hone::simulate {

class VirtualDevice final : public rt::Device {
public:
  /// `seconds` by kernel. A negative one is not known: a launch of it is noted
  /// in missing().
  VirtualDevice(Program &program, const std::vector<double> &seconds)
      : program(program), seconds(seconds), counts(seconds.size()) {}

  /// By kernel: how often it was launched.
  const std::vector<uint64_t> &launches() const { return counts; }
  /// A kernel that ran and has no time.
  std::optional<uint32_t> missing() const { return without; }

  bool isHostVisible() const override { return true; }
  rt::Result<rt::DeviceMemory> allocate(uint64_t bytes) override;
  rt::Result<hone_frame> load(const hone_module &module,
                              const rt::MappedWeights &weights) override;
  void copyIn(char *to, const void *from, uint64_t bytes) override;
  rt::Status copyOut(void *to, const char *from, uint64_t bytes) override;
  void copy(char *to, const char *from, uint64_t bytes) override;
  void launch(uint32_t kernel, void *closure, int64_t count) override;
  void observe(rt::KernelObserver *) override {}
  rt::Status wait() override { return rt::Status::ok(); }

private:
  void free(char *address, uint64_t bytes) override;

  Program &program;
  const std::vector<double> &seconds;
  std::vector<uint64_t> counts;
  std::vector<const void *> weights; ///< none is anywhere
  std::optional<uint32_t> without;
};

} // namespace hone::simulate
