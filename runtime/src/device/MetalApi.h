//===- MetalApi.h - The used part of Metal --------------------------------===//
//
// Declared here, so that the runtime needs neither a Mac nor a compiler of
// Objective-C: a message is a call of objc_msgSend with the types of its
// method. Names and numbers are those of Metal's headers.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::rt::metal {

struct Object;
using Id = Object *;
struct Selector;
using UInteger = unsigned long; ///< NSUInteger
using Bool = signed char;       ///< BOOL, of x86-64 and AArch64 alike in size

/// MTLSize; of three words, so it goes as the platform passes structs.
struct Size {
  UInteger width, height, depth;
};

constexpr UInteger kStorageModeShared = 0;  ///< of a buffer
constexpr UInteger kUsageReadWrite = 1 | 2; ///< of a resource
constexpr UInteger kScopeBuffers = 1;       ///< of a barrier
constexpr UInteger kStatusCompleted = 4;    ///< of a command buffer
constexpr UInteger kStatusError = 5;
constexpr long kFamilyMetal3 = 5001;
constexpr UInteger kLanguage32 = (3 << 16) + 2;
constexpr long kMathModeSafe = 0;

/// A method that every object of some class has.
template <typename Signature> class Message;
template <typename R, typename... A> class Message<R(A...)> {
public:
  void bind(void *given, Selector *name) {
    send = reinterpret_cast<R (*)(Id, Selector *, A...)>(given);
    selector = name;
  }
  R operator()(Id self, A... arguments) const {
    return send(self, selector, arguments...);
  }
  Selector *name() const { return selector; }

private:
  R (*send)(Id, Selector *, A...) = nullptr;
  Selector *selector = nullptr;
};

// X(name, "selector:", signature)
// clang-format off
#define HONE_METAL_MESSAGES(X)                                                 \
  X(alloc, "alloc", Id())                                                      \
  X(init, "init", Id())                                                        \
  X(retain, "retain", Id())                                                    \
  X(release, "release", void())                                                \
  X(respondsTo, "respondsToSelector:", Bool(Selector *))                       \
  X(stringOf, "stringWithUTF8String:", Id(const char *))                       \
  X(text, "UTF8String", const char *())                                        \
  X(description, "localizedDescription", Id())                                 \
  X(count, "count", UInteger())                                                \
  X(at, "objectAtIndex:", Id(UInteger))                                        \
  X(name, "name", Id())                                                        \
  X(supportsFamily, "supportsFamily:", Bool(long))                             \
  X(workingSet, "recommendedMaxWorkingSetSize", uint64_t())                    \
  X(allocatedSize, "currentAllocatedSize", UInteger())                         \
  X(mostBufferBytes, "maxBufferLength", UInteger())                            \
  X(newQueue, "newCommandQueue", Id())                                         \
  X(newBuffer, "newBufferWithLength:options:", Id(UInteger, UInteger))         \
  X(gpuAddress, "gpuAddress", uint64_t())                                      \
  X(contents, "contents", void *())                                            \
  X(setMathMode, "setMathMode:", void(long))                                   \
  X(setLanguage, "setLanguageVersion:", void(UInteger))                        \
  X(newLibrary, "newLibraryWithSource:options:error:", Id(Id, Id, Id *))       \
  X(newFunction, "newFunctionWithName:", Id(Id))                               \
  X(newPipeline, "newComputePipelineStateWithFunction:error:", Id(Id, Id *))   \
  X(mostThreads, "maxTotalThreadsPerThreadgroup", UInteger())                  \
  X(lanes, "threadExecutionWidth", UInteger())                                 \
  X(commandBuffer, "commandBuffer", Id())                                      \
  X(computeEncoder, "computeCommandEncoder", Id())                             \
  X(setPipeline, "setComputePipelineState:", void(Id))                         \
  X(setBytes, "setBytes:length:atIndex:",                                      \
    void(const void *, UInteger, UInteger))                                    \
  X(setShared, "setThreadgroupMemoryLength:atIndex:",                          \
    void(UInteger, UInteger))                                                  \
  X(useResource, "useResource:usage:", void(Id, UInteger))                     \
  X(dispatch, "dispatchThreadgroups:threadsPerThreadgroup:", void(Size, Size)) \
  X(barrier, "memoryBarrierWithScope:", void(UInteger))                        \
  X(endEncoding, "endEncoding", void())                                        \
  X(commit, "commit", void())                                                  \
  X(status, "status", UInteger())                                              \
  X(error, "error", Id())                                                      \
  X(startTime, "GPUStartTime", double())                                       \
  X(endTime, "GPUEndTime", double())
// clang-format on

struct Messages {
#define HONE_METAL_MEMBER(name, selector, signature) Message<signature> name;
  HONE_METAL_MESSAGES(HONE_METAL_MEMBER)
#undef HONE_METAL_MEMBER
};

} // namespace hone::rt::metal
