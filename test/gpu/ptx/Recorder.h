//===- Recorder.h - Launches as cases for a device ------------------------===//
//
// Each launch that the machine runs without a fault, as CaseFile.h has them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "CaseFile.h"
#include "Machine.h"

#include <cstdio>

namespace hone::ptx {

class Recorder {
public:
  /// Where HONE_PTX_RECORD is PREFIX, writes PREFIX-1.case, and for the next
  /// machine of the process PREFIX-2.case. Null: it is not set, or no such file
  /// can be made, which is said.
  static std::unique_ptr<Recorder> fromEnvironment();
  ~Recorder();

  void begin(Memory &memory, const std::deque<Module> &modules);
  /// The launch that has begun ended without a fault.
  void end(Memory &memory, const Launch &launch);
  /// The expected contents at `address` after all launches, in numbers of 2 or
  /// 4 bytes; of those that none has read or written nothing is known.
  void expect(const Memory &memory, uint64_t address, uint8_t bytes,
              const std::vector<Near> &numbers);

private:
  struct Known {
    uint32_t id;
    uint64_t bytes;
    std::vector<char> before;   ///< the launch
    std::vector<char> replayed; ///< the device's bytes there
    std::vector<bool> isThere;  ///< by byte of `replayed`
  };

  explicit Recorder(FILE *file) : file(file) {}
  template <typename T> void put(T value) {
    fwrite(&value, sizeof(value), 1, file);
  }
  /// A device has these bytes now, or ones that are near.
  static void know(Known &region, uint64_t offset, uint64_t bytes,
                   const char *data);
  void putBytes(char kind, Known &region, uint64_t offset, uint64_t bytes,
                const char *data);

  FILE *file;
  bool isNear = false;               ///< matrix units have run
  std::map<uint64_t, Known> regions; ///< by address
  std::map<const Module *, uint32_t> modules;
  uint32_t allocations = 0;
};

} // namespace hone::ptx
