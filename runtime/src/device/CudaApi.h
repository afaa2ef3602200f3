//===- CudaApi.h - The used part of NVIDIA's driver API -------------------===//
//
// Declared here, so that neither honec nor a program needs a CUDA toolkit. The
// driver keeps these functions, with these names, since version 11.4.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::rt::cuda {

using Address = unsigned long long;
using DeviceNumber = int;
struct Context;
struct LoadedCode;
struct Function;
struct Stream;
struct Event;
struct Graph;
struct GraphNode;
struct GraphExecutable;

/// Of all functions. Others than these are only printed.
enum Code : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kInvalidText = 218,     ///< its log says why
  kUnsupportedText = 222, ///< newer than the driver
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kMisalignedAddress = 716,
  kLaunchFailed = 719,
};

enum DeviceAttribute : int {
  kMultiprocessors = 16,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kMostSharedBytes = 97, ///< of a workgroup, where a kernel asks for it
};

/// Of a context: the uses for which it reserves the device's memory.
enum Limit : int {
  kStackBytes = 0,  ///< of each thread that a device can hold
  kPrintfBytes = 1, ///< of printf's queue
  kHeapBytes = 2,   ///< of the heap of kernels' malloc
};

enum FunctionAttribute : int {
  kLocalBytes = 3, ///< of each thread's own memory
  kMaxDynamicShared = 8,
};

enum LoadOption : int {
  kInfoLog = 3,       ///< char *
  kInfoLogBytes = 4,  ///< the size, as a pointer
  kErrorLog = 5,      ///< char *
  kErrorLogBytes = 6, ///< the size, as a pointer
};

/// CUDA_KERNEL_NODE_PARAMS, as the functions without _v2 have it.
struct KernelNode {
  Function *function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **arguments, **extra;
};

constexpr unsigned kNonBlocking = 1; ///< of a stream
constexpr unsigned kNoTiming = 2;    ///< of an event

// X(name, symbol, parameters)
// clang-format off
#define HONE_CUDA_FUNCTIONS(X)                                                 \
  X(init, cuInit, (unsigned flags))                                            \
  X(driverVersion, cuDriverGetVersion, (int *version))                         \
  X(errorName, cuGetErrorName, (Code code, const char **text))                 \
  X(errorString, cuGetErrorString, (Code code, const char **text))             \
  X(deviceCount, cuDeviceGetCount, (int *count))                               \
  X(device, cuDeviceGet, (DeviceNumber *device, int ordinal))                  \
  X(deviceName, cuDeviceGetName, (char *name, int bytes, DeviceNumber device)) \
  X(deviceAttribute, cuDeviceGetAttribute,                                     \
    (int *value, DeviceAttribute attribute, DeviceNumber device))              \
  X(deviceMemory, cuDeviceTotalMem_v2, (size_t *bytes, DeviceNumber device))   \
  X(retainContext, cuDevicePrimaryCtxRetain,                                   \
    (Context **context, DeviceNumber device))                                  \
  X(releaseContext, cuDevicePrimaryCtxRelease_v2, (DeviceNumber device))       \
  X(setContext, cuCtxSetCurrent, (Context *context))                           \
  X(limit, cuCtxGetLimit, (size_t *value, Limit limit))                        \
  X(setLimit, cuCtxSetLimit, (Limit limit, size_t value))                      \
  X(memoryInfo, cuMemGetInfo_v2, (size_t *free, size_t *total))                \
  X(allocate, cuMemAlloc_v2, (Address *address, size_t bytes))                 \
  X(free, cuMemFree_v2, (Address address))                                     \
  X(allocateHost, cuMemHostAlloc,                                              \
    (void **address, size_t bytes, unsigned flags))                            \
  X(freeHost, cuMemFreeHost, (void *address))                                  \
  X(copyIn, cuMemcpyHtoDAsync_v2,                                              \
    (Address to, const void *from, size_t bytes, Stream *stream))              \
  X(copyOut, cuMemcpyDtoHAsync_v2,                                             \
    (void *to, Address from, size_t bytes, Stream *stream))                    \
  X(copy, cuMemcpyDtoDAsync_v2,                                                \
    (Address to, Address from, size_t bytes, Stream *stream))                  \
  X(fill, cuMemsetD8Async,                                                     \
    (Address to, unsigned char value, size_t bytes, Stream *stream))           \
  X(createStream, cuStreamCreate, (Stream **stream, unsigned flags))           \
  X(destroyStream, cuStreamDestroy_v2, (Stream *stream))                       \
  X(synchronize, cuStreamSynchronize, (Stream *stream))                        \
  X(createEvent, cuEventCreate, (Event **event, unsigned flags))               \
  X(destroyEvent, cuEventDestroy_v2, (Event *event))                           \
  X(record, cuEventRecord, (Event *event, Stream *stream))                     \
  X(query, cuEventQuery, (Event *event))                                       \
  X(elapsed, cuEventElapsedTime,                                               \
    (float *milliseconds, Event *start, Event *end))                           \
  X(loadCode, cuModuleLoadDataEx,                                                \
    (LoadedCode **code, const void *image, unsigned count,                     \
     LoadOption *options, void **values))                                      \
  X(unload, cuModuleUnload, (LoadedCode *code))                                \
  X(function, cuModuleGetFunction,                                             \
    (Function **function, LoadedCode *code, const char *name))                 \
  X(functionAttribute, cuFuncGetAttribute,                                     \
    (int *value, FunctionAttribute attribute, Function *function))             \
  X(setFunction, cuFuncSetAttribute,                                           \
    (Function *function, FunctionAttribute attribute, int value))              \
  X(launch, cuLaunchKernel,                                                    \
    (Function *function, unsigned gridX, unsigned gridY, unsigned gridZ,       \
     unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,  \
     Stream *stream, void **arguments, void **extra))                           \
  X(createGraph, cuGraphCreate, (Graph **graph, unsigned flags))               \
  X(destroyGraph, cuGraphDestroy, (Graph *graph))                              \
  X(addKernelNode, cuGraphAddKernelNode,                                       \
    (GraphNode **node, Graph *graph, GraphNode *const *after, size_t count,    \
     const KernelNode *description))                                           \
  X(instantiate, cuGraphInstantiateWithFlags,                                  \
    (GraphExecutable **executable, Graph *graph, unsigned long long flags))    \
  X(setKernelNode, cuGraphExecKernelNodeSetParams,                             \
    (GraphExecutable *executable, GraphNode *node,                             \
     const KernelNode *description))                                           \
  X(launchGraph, cuGraphLaunch,                                                \
    (GraphExecutable *executable, Stream *stream))                             \
  X(destroyExecutable, cuGraphExecDestroy, (GraphExecutable *executable))
// clang-format on

/// The driver's functions, by our names.
struct Functions {
#define HONE_CUDA_MEMBER(name, symbol, parameters)                             \
  Code(*name) parameters = nullptr;
  HONE_CUDA_FUNCTIONS(HONE_CUDA_MEMBER)
#undef HONE_CUDA_MEMBER
};

} // namespace hone::rt::cuda
