//===- CudaFunctions.cpp - libcuda.so.1, made of the machine --------------===//
//
// The functions of device/CudaApi.h, with the symbols of NVIDIA's driver.
// Handles are pointers of ours to the objects.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <chrono>
#include <cstring>
#include <deque>

namespace hone::rt::cuda {
struct Context {
  int references = 0;
  std::array<size_t, 3> limits = {}; ///< by Limit
};
struct LoadedCode {
  const ptx::Module *module = nullptr;
  std::map<std::string, std::unique_ptr<Function>> functions;
};
struct Function {
  const ptx::Module *module = nullptr;
  const ptx::Kernel *kernel = nullptr;
  uint32_t maxDynamicShared = 48 * 1024;
};
struct Stream {};
struct GraphNode {
  KernelNode description;
  /// Of each parameter, as the node has them.
  std::vector<std::vector<char>> arguments;
};
struct Graph {
  std::deque<GraphNode> nodes;
  bool isChain = true; ///< each node waits for the one before
};
struct GraphExecutable {
  Graph *of;
  std::vector<GraphNode> nodes;
};
struct Event {
  bool hasHappened = true, hasTime = false;
  std::chrono::steady_clock::time_point time;
};
} // namespace hone::rt::cuda

using namespace hone::ptx;
using namespace hone::rt::cuda;

static Context context;

/// As a context has them at first.
static constexpr std::array<size_t, 3> kLimits = {1 << 10, 1 << 20, 8 << 20};

// Every function begins with one: a device that is not there, or that has
// failed, answers nothing.
#define HONE_ENTER                                                             \
  Driver &driver = Driver::get();                                              \
  std::lock_guard<std::mutex> lock(driver.mutex);                              \
  if (!driver.isInitialized)                                                   \
    return kNotInitialized;
#define HONE_ENTER_DEVICE                                                      \
  HONE_ENTER                                                                   \
  if (driver.sticky != kSuccess)                                               \
    return driver.sticky;                                                      \
  if (!driver.machine())                                                       \
    return kOutOfMemory;

#define EXPORT extern "C" __attribute__((visibility("default"))) Code

EXPORT cuInit(unsigned flags) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (flags != 0)
    return kInvalidValue;
  if (driver.options.devices == 0)
    return kNoDevice;
  driver.isInitialized = true;
  return kSuccess;
}

EXPORT cuDriverGetVersion(int *version) {
  *version = Driver::get().options.version;
  return kSuccess;
}

static const char *describe(Code code, bool isName) {
  switch (code) {
  case kSuccess:
    return isName ? "CUDA_SUCCESS" : "no error";
  case kInvalidValue:
    return isName ? "CUDA_ERROR_INVALID_VALUE" : "invalid argument";
  case kOutOfMemory:
    return isName ? "CUDA_ERROR_OUT_OF_MEMORY" : "out of memory";
  case kNotInitialized:
    return isName ? "CUDA_ERROR_NOT_INITIALIZED" : "initialization error";
  case kNoDevice:
    return isName ? "CUDA_ERROR_NO_DEVICE"
                  : "no CUDA-capable device is detected";
  case kInvalidDevice:
    return isName ? "CUDA_ERROR_INVALID_DEVICE" : "invalid device ordinal";
  case kInvalidImage:
    return isName ? "CUDA_ERROR_INVALID_IMAGE"
                  : "device kernel image is invalid";
  case kInvalidContext:
    return isName ? "CUDA_ERROR_INVALID_CONTEXT" : "invalid device context";
  case kInvalidText:
    return isName ? "CUDA_ERROR_INVALID_PTX" : "a PTX JIT compilation failed";
  case kUnsupportedText:
    return isName ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
                  : "the provided PTX was compiled with an unsupported "
                    "toolchain.";
  case kNotFound:
    return isName ? "CUDA_ERROR_NOT_FOUND" : "named symbol not found";
  case kNotReady:
    return isName ? "CUDA_ERROR_NOT_READY" : "device not ready";
  case kIllegalAddress:
    return isName ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                  : "an illegal memory access was encountered";
  case kLaunchOutOfResources:
    return isName ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
                  : "too many resources requested for launch";
  case kLaunchTimeout:
    return isName ? "CUDA_ERROR_LAUNCH_TIMEOUT"
                  : "the launch timed out and was terminated";
  case kMisalignedAddress:
    return isName ? "CUDA_ERROR_MISALIGNED_ADDRESS" : "misaligned address";
  case kLaunchFailed:
    return isName ? "CUDA_ERROR_LAUNCH_FAILED" : "unspecified launch failure";
  }
  return nullptr;
}

EXPORT cuGetErrorName(Code code, const char **text) {
  *text = describe(code, true);
  return *text ? kSuccess : kInvalidValue;
}
EXPORT cuGetErrorString(Code code, const char **text) {
  *text = describe(code, false);
  return *text ? kSuccess : kInvalidValue;
}

EXPORT cuDeviceGetCount(int *count) {
  HONE_ENTER
  *count = driver.options.devices;
  return kSuccess;
}
EXPORT cuDeviceGet(DeviceNumber *device, int ordinal) {
  HONE_ENTER
  if (ordinal < 0 || ordinal >= driver.options.devices)
    return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}
EXPORT cuDeviceGetName(char *name, int bytes, DeviceNumber) {
  HONE_ENTER
  snprintf(name, size_t(bytes), "PTX machine");
  return kSuccess;
}

/// Of a workgroup, by the programming guide's table of compute capabilities.
static uint32_t mostSharedBytes(int capability) {
  constexpr uint32_t kKiB = 1024;
  switch (capability) {
  case 75:
    return 64 * kKiB;
  case 80:
  case 87:
    return 163 * kKiB;
  case 86:
  case 89:
  case 120:
  case 121:
    return 99 * kKiB;
  default:
    return kMaxShared;
  }
}

EXPORT cuDeviceGetAttribute(int *value, DeviceAttribute attribute,
                            DeviceNumber) {
  HONE_ENTER
  switch (attribute) {
  case kMultiprocessors:
    *value = kMultiprocessorCount;
    return kSuccess;
  case kCapabilityMajor:
    *value = driver.options.capability / 10;
    return kSuccess;
  case kCapabilityMinor:
    *value = driver.options.capability % 10;
    return kSuccess;
  case kMostSharedBytes:
    *value = int(mostSharedBytes(driver.options.capability));
    return kSuccess;
  }
  return kInvalidValue;
}
EXPORT cuDeviceTotalMem_v2(size_t *bytes, DeviceNumber) {
  HONE_ENTER
  *bytes = driver.options.machine.memoryBytes;
  return kSuccess;
}

static Code reserveStacks(Driver &driver, size_t bytes) {
  if (!driver.reserve(bytes * kResidentThreads * kMultiprocessorCount))
    return kOutOfMemory;
  context.limits[kStackBytes] = bytes;
  return kSuccess;
}

EXPORT cuDevicePrimaryCtxRetain(Context **out, DeviceNumber) {
  HONE_ENTER_DEVICE
  if (context.references++ == 0) {
    context.limits = kLimits;
    // Tests have devices that are smaller than that, too.
    if (reserveStacks(driver, kLimits[kStackBytes]) != kSuccess)
      context.limits[kStackBytes] = 0;
  }
  *out = &context;
  return kSuccess;
}
EXPORT cuDevicePrimaryCtxRelease_v2(DeviceNumber) {
  HONE_ENTER
  if (--context.references == 0)
    return reserveStacks(driver, 0);
  return kSuccess;
}
EXPORT cuCtxSetCurrent(Context *) {
  HONE_ENTER
  return kSuccess;
}

EXPORT cuCtxGetLimit(size_t *value, Limit limit) {
  HONE_ENTER_DEVICE
  if (limit < 0 || size_t(limit) >= context.limits.size())
    return kInvalidValue;
  *value = context.limits[limit];
  return kSuccess;
}
EXPORT cuCtxSetLimit(Limit limit, size_t value) {
  HONE_ENTER_DEVICE
  if (driver.options.refusesLimits || context.references == 0 || limit < 0 ||
      size_t(limit) >= context.limits.size())
    return kInvalidValue;
  if (limit == kStackBytes)
    return reserveStacks(driver, value);
  context.limits[limit] = value;
  return kSuccess;
}

EXPORT cuMemGetInfo_v2(size_t *free, size_t *total) {
  HONE_ENTER_DEVICE
  *total = driver.memory().capacity();
  *free = driver.freeBytes();
  return kSuccess;
}
EXPORT cuMemAlloc_v2(Address *address, size_t bytes) {
  HONE_ENTER_DEVICE
  return driver.allocate(*address, bytes);
}
EXPORT cuMemFree_v2(Address address) {
  HONE_ENTER_DEVICE
  if (Code code = driver.flush(/*waits=*/true); code != kSuccess)
    return code;
  return driver.memory().free(address) ? kSuccess : kInvalidValue;
}
EXPORT cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  HONE_ENTER_DEVICE
  return driver.allocateHost(*address, bytes);
}
EXPORT cuMemFreeHost(void *address) {
  HONE_ENTER
  driver.flush(/*waits=*/false);
  return driver.freeHost(address) ? kSuccess : kInvalidValue;
}

/// Whether all of it lies in one allocation; zeros of nobody may be there.
static bool isHeld(Driver &driver, Address address, size_t bytes) {
  return driver.memory().find(address, bytes) != nullptr;
}

static void store(Driver &driver, Address to, const void *from, size_t bytes) {
  Memory &memory = driver.memory();
  memcpy(memory.data(to), from, bytes);
  memory.shadow().setWritten(memory.offset(to), bytes, true);
}

EXPORT cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes,
                            Stream *) {
  HONE_ENTER_DEVICE
  if (!isHeld(driver, to, bytes))
    return kInvalidValue;
  // Memory that is not pinned has been read when this returns.
  if (driver.isPinned(from)) {
    driver.enqueue(
        [&driver, to, from, bytes] { store(driver, to, from, bytes); });
    return kSuccess;
  }
  std::vector<char> staged(static_cast<const char *>(from),
                           static_cast<const char *>(from) + bytes);
  driver.enqueue([&driver, to, staged = std::move(staged)] {
    store(driver, to, staged.data(), staged.size());
  });
  return kSuccess;
}
EXPORT cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Stream *) {
  HONE_ENTER_DEVICE
  if (!isHeld(driver, from, bytes))
    return kInvalidValue;
  driver.enqueue([&driver, to, from, bytes] {
    memcpy(to, driver.memory().data(from), bytes);
  });
  return driver.isPinned(to) ? kSuccess : driver.flush(/*waits=*/true);
}
EXPORT cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream *) {
  HONE_ENTER_DEVICE
  if (!isHeld(driver, to, bytes) || !isHeld(driver, from, bytes))
    return kInvalidValue;
  // The driver's documentation leaves overlapping ranges open.
  if (to < from + bytes && from < to + bytes && bytes)
    return kInvalidValue;
  driver.enqueue([&driver, to, from, bytes] {
    Memory &memory = driver.memory();
    memcpy(memory.data(to), memory.data(from), bytes);
    Shadow &shadow = memory.shadow();
    if (shadow.isWritten(memory.offset(from), bytes)) {
      shadow.setWritten(memory.offset(to), bytes, true);
      return;
    }
    for (size_t i = 0; i < bytes; ++i)
      shadow.setWritten(memory.offset(to) + i, 1,
                        shadow.isWritten(memory.offset(from) + i, 1));
  });
  return kSuccess;
}
EXPORT cuMemsetD8Async(Address to, unsigned char value, size_t bytes,
                       Stream *) {
  HONE_ENTER_DEVICE
  if (!isHeld(driver, to, bytes))
    return kInvalidValue;
  driver.enqueue([&driver, to, value, bytes] {
    Memory &memory = driver.memory();
    memset(memory.data(to), value, bytes);
    memory.shadow().setWritten(memory.offset(to), bytes, true);
  });
  return kSuccess;
}

EXPORT cuStreamCreate(Stream **stream, unsigned) {
  HONE_ENTER_DEVICE
  *stream = new Stream;
  return kSuccess;
}
EXPORT cuStreamDestroy_v2(Stream *stream) {
  HONE_ENTER
  driver.flush(/*waits=*/false);
  delete stream;
  return kSuccess;
}
EXPORT cuStreamSynchronize(Stream *) {
  HONE_ENTER_DEVICE
  return driver.flush(/*waits=*/true);
}

EXPORT cuEventCreate(Event **event, unsigned) {
  HONE_ENTER_DEVICE
  *event = new Event;
  return kSuccess;
}
EXPORT cuEventDestroy_v2(Event *event) {
  HONE_ENTER
  driver.flush(/*waits=*/false);
  delete event;
  return kSuccess;
}
EXPORT cuEventRecord(Event *event, Stream *) {
  HONE_ENTER_DEVICE
  event->hasHappened = false;
  driver.enqueue([event] {
    event->hasHappened = event->hasTime = true;
    event->time = std::chrono::steady_clock::now();
  });
  return kSuccess;
}
EXPORT cuEventQuery(Event *event) {
  HONE_ENTER_DEVICE
  const Code code = driver.flush(/*waits=*/false);
  return code != kSuccess ? code : event->hasHappened ? kSuccess : kNotReady;
}
EXPORT cuEventSynchronize(Event *) {
  HONE_ENTER_DEVICE
  return driver.flush(/*waits=*/true);
}
EXPORT cuEventElapsedTime(float *milliseconds, Event *start, Event *end) {
  HONE_ENTER_DEVICE
  if (!start->hasHappened || !end->hasHappened)
    return kNotReady;
  if (!start->hasTime || !end->hasTime)
    return kInvalidValue;
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return kSuccess;
}

EXPORT cuModuleLoadDataEx(LoadedCode **code, const void *image, unsigned count,
                          LoadOption *options, void **values) {
  HONE_ENTER_DEVICE
  std::string log;
  const Module *module = driver.load(static_cast<const char *>(image), log);
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == kErrorLog || options[i] == kInfoLog) {
      size_t bytes = 0;
      for (unsigned k = 0; k < count; ++k)
        if (options[k] == options[i] + 1)
          bytes = reinterpret_cast<uintptr_t>(values[k]);
      if (bytes)
        snprintf(static_cast<char *>(values[i]), bytes, "%s",
                 options[i] == kErrorLog ? log.c_str() : "");
    }
  if (!module)
    return kInvalidText;
  *code = new LoadedCode{module, {}};
  return kSuccess;
}
EXPORT cuModuleUnload(LoadedCode *code) {
  HONE_ENTER
  driver.flush(/*waits=*/false);
  driver.machine()->unload(code->module);
  delete code;
  return kSuccess;
}
EXPORT cuModuleGetFunction(Function **function, LoadedCode *code,
                           const char *name) {
  HONE_ENTER_DEVICE
  const Kernel *kernel = code->module->find(name);
  if (!kernel)
    return kNotFound;
  std::unique_ptr<Function> &known = code->functions[name];
  if (!known) {
    known.reset(new Function);
    known->module = code->module;
    known->kernel = kernel;
  }
  *function = known.get();
  return kSuccess;
}
EXPORT cuFuncGetAttribute(int *value, FunctionAttribute attribute,
                          Function *function) {
  HONE_ENTER_DEVICE
  switch (attribute) {
  case kLocalBytes:
    *value = int(function->kernel->localBytes);
    return kSuccess;
  case kMaxDynamicShared:
    *value = int(function->maxDynamicShared);
    return kSuccess;
  }
  return kInvalidValue;
}
EXPORT cuFuncSetAttribute(Function *function, FunctionAttribute attribute,
                          int value) {
  HONE_ENTER_DEVICE
  if (attribute != kMaxDynamicShared || value < 0 ||
      uint32_t(value) + function->kernel->sharedBytes >
          mostSharedBytes(driver.options.capability))
    return kInvalidValue;
  function->maxDynamicShared = uint32_t(value);
  return kSuccess;
}
EXPORT cuLaunchKernel(Function *function, unsigned gridX, unsigned gridY,
                      unsigned gridZ, unsigned blockX, unsigned blockY,
                      unsigned blockZ, unsigned sharedBytes, Stream *,
                      void **arguments, void **extra) {
  HONE_ENTER_DEVICE
  if (extra || gridX == 0 || gridY == 0 || gridZ == 0 || blockX == 0 ||
      blockY == 0 || blockZ == 0 || uint64_t(blockX) * blockY * blockZ > 1024 ||
      sharedBytes > function->maxDynamicShared)
    return kInvalidValue;
  const Kernel &kernel = *function->kernel;
  if (kernel.localBytes > context.limits[kStackBytes])
    if (Code code = reserveStacks(driver, kernel.localBytes); code != kSuccess)
      return code;
  // Arguments are read now: their memory is free again on return.
  std::vector<char> copied(kernel.parameterBytes);
  std::vector<size_t> offsets;
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter &parameter = kernel.parameters[i];
    memcpy(copied.data() + parameter.offset, arguments[i], parameter.bytes);
    offsets.push_back(parameter.offset);
  }
  driver.launch(function->module, &kernel, {gridX, gridY, gridZ},
                {blockX, blockY, blockZ}, sharedBytes, std::move(copied),
                std::move(offsets));
  return kSuccess;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// Copies a node's launch parameters; false: a kernel cannot be launched so.
static bool describe(GraphNode &node, const KernelNode &given) {
  if (!given.function || given.extra || given.gridX == 0 || given.gridY == 0 ||
      given.gridZ == 0 ||
      uint64_t(given.blockX) * given.blockY * given.blockZ - 1 >= 1024 ||
      given.sharedBytes > given.function->maxDynamicShared)
    return false;
  node.description = given;
  node.arguments.clear();
  const Kernel &kernel = *given.function->kernel;
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const char *from = static_cast<const char *>(given.arguments[i]);
    node.arguments.emplace_back(from, from + kernel.parameters[i].bytes);
  }
  return true;
}

EXPORT cuGraphCreate(Graph **graph, unsigned flags) {
  HONE_ENTER_DEVICE
  if (flags != 0)
    return kInvalidValue;
  if (driver.options.refusesGraphs)
    return kOutOfMemory;
  *graph = new Graph;
  return kSuccess;
}
EXPORT cuGraphDestroy(Graph *graph) {
  HONE_ENTER
  delete graph;
  return kSuccess;
}
EXPORT cuGraphAddKernelNode(GraphNode **node, Graph *graph,
                            GraphNode *const *after, size_t count,
                            const KernelNode *description) {
  HONE_ENTER_DEVICE
  GraphNode added;
  if (!describe(added, *description))
    return kInvalidValue;
  // A node that does not wait for the one before may run beside it, and this
  // machine runs one after another: it would not see the race.
  const bool isNext = graph->nodes.empty()
                          ? count == 0
                          : count == 1 && *after == &graph->nodes.back();
  graph->isChain &= isNext;
  *node = &graph->nodes.emplace_back(std::move(added));
  return kSuccess;
}
EXPORT cuGraphInstantiateWithFlags(GraphExecutable **executable, Graph *graph,
                                   unsigned long long flags) {
  HONE_ENTER_DEVICE
  if (flags != 0 || !graph->isChain)
    return kInvalidValue;
  *executable =
      new GraphExecutable{graph, {graph->nodes.begin(), graph->nodes.end()}};
  return kSuccess;
}
EXPORT cuGraphExecKernelNodeSetParams(GraphExecutable *executable,
                                      GraphNode *node,
                                      const KernelNode *description) {
  HONE_ENTER_DEVICE
  std::deque<GraphNode> &nodes = executable->of->nodes;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (&nodes[i] == node)
      // Another kernel is not one of the changes that are allowed.
      return description->function == node->description.function &&
                     describe(executable->nodes[i], *description)
                 ? kSuccess
                 : kInvalidValue;
  return kInvalidValue;
}
EXPORT cuGraphExecDestroy(GraphExecutable *executable) {
  HONE_ENTER
  delete executable;
  return kSuccess;
}
EXPORT cuGraphLaunch(GraphExecutable *executable, Stream *stream) {
  std::vector<void *> arguments;
  for (GraphNode &node : executable->nodes) {
    const KernelNode &is = node.description;
    arguments.clear();
    for (std::vector<char> &argument : node.arguments)
      arguments.push_back(argument.data());
    if (Code code = cuLaunchKernel(
            is.function, is.gridX, is.gridY, is.gridZ, is.blockX, is.blockY,
            is.blockZ, is.sharedBytes, stream, arguments.data(), nullptr);
        code != kSuccess)
      return code;
  }
  return kSuccess;
}

#define HONE_ADDRESS(name, symbol, parameters)                                 \
  {#symbol, reinterpret_cast<void *>(&symbol)},

EXPORT cuGetProcAddress(const char *symbol, void **function, int, uint64_t) {
  static const std::map<std::string, void *> functions = {
      HONE_CUDA_FUNCTIONS(HONE_ADDRESS)};
  auto found = functions.find(symbol);
  if (found == functions.end())
    found = functions.find(std::string(symbol) + "_v2");
  *function = found == functions.end() ? nullptr : found->second;
  return *function ? kSuccess : kNotFound;
}
