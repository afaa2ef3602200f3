//===- System.h - Facts of a process and its machine ----------------------===//

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone::rt::platform {

/// The path of the running program; "" where the system does not tell.
std::string programPath();

/// The resident memory of this process, in bytes.
struct ResidentMemory {
  uint64_t anonymous = 0; ///< now
  uint64_t peak = 0;      ///< anonymous and mapped files, at its highest so far
};

/// Zeros where the system does not tell. Allocates nothing. Systems count in
/// batches of pages for each thread or processor, so it may be off by those.
ResidentMemory residentMemory();

/// The same, counted page by page, which takes milliseconds; nothing where the
/// system has no such account. Allocates nothing.
std::optional<ResidentMemory> countResidentMemory();

/// A library that is in this process although neither the program nor its
/// libraries ask for it, and the anonymous memory of its own data, in bytes.
/// Its allocations are in the heap or in mappings that do not name it.
struct ForeignLibrary {
  std::string path;
  uint64_t bytes = 0;
};

/// None where the system does not tell.
std::vector<ForeignLibrary> foreignLibraries();

/// Whether memory of a sanitizer or an emulator is in this process, too.
bool sharesMemory();

/// CPUs that this process may run on, at least 1.
unsigned availableCpus();

/// A library of the system, `name` as its loader finds it. It stays until the
/// process ends. Null: `reason` is the loader's.
void *openLibrary(const char *name, std::string &reason);
/// Null: it has none of this name.
void *findSymbol(void *library, const char *name);

/// Another one each time, also in processes that start together.
uint64_t randomNumber();

/// Whether the system lets programs use an AArch64 CPU's `feature`, in LLVM's
/// words; nothing on other CPUs and for names that are no matter of
/// instructions.
std::optional<bool> hasArmFeature(const std::string &feature);

/// Asks the system to let this process use its CPU's matrix unit, whose
/// registers it saves for no one else; false if there is none or it refuses.
bool allowMatrixUnit();

/// Standard descriptors that are closed become ones that swallow everything,
/// lest a file of ours is opened as one of them and printed to.
void openStandardDescriptors();

/// From now on the heap gives nothing back by itself; trimHeap() gives back all
/// that it can. Nothing where the C library has no such settings.
void keepHeap();
void trimHeap();

/// Ends the process and runs nothing. Async-signal-safe.
[[noreturn]] void exitAtOnce(int code);

} // namespace hone::rt::platform
