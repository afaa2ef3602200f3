//===- MetalDriver.cpp - Metal, if it is there ----------------------------===//

#include "device/MetalDriver.h"

#include "base/ByteCount.h"
#include "platform/System.h"

namespace hone::rt {

using namespace metal;

static constexpr const char *ObjectiveC = "libobjc.A.dylib";
/// Where macOS has it, and, by its name, wherever a loader looks.
static constexpr const char *Frameworks[] = {
    "/System/Library/Frameworks/Metal.framework/Metal", "Metal"};

static Status noDriver(const std::string &why) {
  return Status(ErrorCode::NoDriver, "Metal", why,
                "run the program on a Mac with a GPU of Apple's, or compile "
                "for the processor: leave out target.triple");
}

Result<MetalDriver> MetalDriver::load() {
  std::string reason;
  void *objects = platform::openLibrary(ObjectiveC, reason);
  void *framework = nullptr;
  for (const char *name : Frameworks)
    if (objects && !framework)
      framework = platform::openLibrary(name, reason);
  if (!framework)
    return noDriver("it cannot be loaded: " + reason);
  MetalDriver driver;
  void *send = nullptr;
  const char *missing = nullptr;
  auto find = [&](auto &function, void *library, const char *symbol) {
    void *found = platform::findSymbol(library, symbol);
    function = reinterpret_cast<std::decay_t<decltype(function)>>(found);
    if (!found)
      missing = symbol;
  };
  find(send, objects, "objc_msgSend");
  find(driver.getClass, objects, "objc_getClass");
  find(driver.selectorOf, objects, "sel_registerName");
  find(driver.pushPool, objects, "objc_autoreleasePoolPush");
  find(driver.popPool, objects, "objc_autoreleasePoolPop");
  find(driver.copyDevices, framework, "MTLCopyAllDevices");
  if (missing)
    return noDriver(std::string("it has no ") + missing);
#define HONE_METAL_BIND(name, selector, signature)                             \
  driver.name.bind(send, driver.selectorOf(selector));
  HONE_METAL_MESSAGES(HONE_METAL_BIND)
#undef HONE_METAL_BIND
  // Pragmas for rounding in a source text came with the same version.
  const Id options =
      driver.init(driver.alloc(driver.classOf("MTLCompileOptions")));
  const bool isNew =
      options && driver.respondsTo(options, driver.setMathMode.name());
  if (options)
    driver.release(options);
  if (!isNew)
    return Status(ErrorCode::OldDriver, "Metal",
                  "is older than 3.2, which the program's kernels need",
                  "install macOS 15 or later");
  return driver;
}

std::string MetalDriver::describe(Id failure) const {
  const std::string words = failure ? textOf(description(failure)) : "";
  return words.empty() ? "Metal does not say why" : words;
}

Result<std::vector<MetalDescription>> MetalDriver::devices() const {
  std::vector<MetalDescription> found;
  const AutoreleasePool pool(*this);
  const Id all = copyDevices();
  for (UInteger i = 0; all && i < count(all); ++i) {
    MetalDescription description;
    description.device = retain(at(all, i));
    description.name = {int(i), textOf(name(description.device))};
    description.bytes = workingSet(description.device);
    description.isMetal3 = supportsFamily(description.device, kFamilyMetal3);
    found.push_back(description);
  }
  if (all)
    release(all);
  if (found.empty())
    return noDriver("it found no device");
  return found;
}

Result<std::string> listMetalDevices() {
  HONE_ASSIGN(MetalDriver driver, MetalDriver::load());
  HONE_ASSIGN(std::vector<MetalDescription> devices, driver.devices());
  std::string text = "Metal 3.2 or later\n";
  for (const MetalDescription &device : devices)
    text += "device " + std::to_string(device.name.number) + "  " +
            (device.isMetal3 ? "Metal 3" : "before Metal 3") + "  " +
            describeBytes(device.bytes) + "  " + device.name.name + "\n";
  return text;
}

} // namespace hone::rt
