//===- MetalDriver.h - Metal, if it is there ------------------------------===//

#pragma once

#include "device/DeviceName.h"
#include "device/MetalApi.h"

#include <vector>

namespace hone::rt {

/// Facts of a device before it is used.
struct MetalDescription {
  DeviceName name;
  metal::Id device = nullptr; ///< for as long as the process lives
  uint64_t bytes = 0;         ///< that Metal would have a program use at most
  bool isMetal3 = false;
};

/// Metal.framework and the library of Objective-C, by our names.
struct MetalDriver : metal::Messages {
  /// Errors: NoDriver, OldDriver.
  static Result<MetalDriver> load();

  /// Errors: NoDriver.
  Result<std::vector<MetalDescription>> devices() const;

  metal::Id classOf(const char *name) const { return getClass(name); }
  std::string textOf(metal::Id string) const {
    const char *text = string ? this->text(string) : nullptr;
    return text ? text : "";
  }
  /// Of an NSError, or of none.
  std::string describe(metal::Id failure) const;

  void *(*pushPool)() = nullptr;
  void (*popPool)(void *pool) = nullptr;

private:
  metal::Id (*getClass)(const char *name) = nullptr;
  metal::Selector *(*selectorOf)(const char *name) = nullptr;
  metal::Id (*copyDevices)() = nullptr;
};

/// Objects that methods return without an owner live until its end.
class AutoreleasePool {
public:
  explicit AutoreleasePool(const MetalDriver &driver)
      : driver(driver), pool(driver.pushPool()) {}
  ~AutoreleasePool() { driver.popPool(pool); }
  AutoreleasePool(const AutoreleasePool &) = delete;
  AutoreleasePool &operator=(const AutoreleasePool &) = delete;

private:
  const MetalDriver &driver;
  void *pool;
};

/// A table of the devices that programs can run on, for a person.
/// Errors: NoDriver, OldDriver.
Result<std::string> listMetalDevices();

} // namespace hone::rt
