//===- CaseFile.h - Launches, and the bytes that they must leave ----------===//
//
// A case is a file of launches: their text and closures, the bytes that each
// reads for the first time, and all bytes that it leaves. A device that runs
// them one after another must leave the same. A case names memory by allocation
// and offset, so it can be run where addresses are others.
//
//   "hone case 2\n", then records, each a letter and what belongs to it, in the
//   machine's byte order (little endian):
//   M  u64 bytes, text        a module; modules are counted from 0
//   A  u32 id, u64 bytes      an allocation begins, whose bytes nobody knows
//   F  u32 id                 an allocation ends
//   W  u32 id, u64 offset, u64 bytes, bytes        what the host has written
//   L  u32 module, u32 bytes, name, u32 grid[3], u32 block[3], u32 shared,
//      u32 parameters, each: u32 bytes, u32 id, value
//      kNoAllocation as id: the value is plain; else it is an offset of u64
//   E  as W: what the last launch has left there
//   N  from here on launches leave near numbers, not the same bits, so there
//      is no E: kernels have matrix units, whose sums PTX leaves open
//   T  u32 id, u64 offset, u8 bytes, u64 count, each: f64 value, f64 most
//      numbers that the last launch must have left there, of float32 (4 bytes)
//      or bfloat16 (2), and how far they may be off
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace hone::ptx {

constexpr char kCaseHeader[] = "hone case 2\n";
constexpr uint32_t kNoAllocation = ~uint32_t(0);

/// A number that is not known to the bit.
struct Near {
  double value = 0, most = 0;
};

/// Reads records; `isGood` is false once the file ended too early.
class CaseRecords {
public:
  explicit CaseRecords(std::string_view bytes) : rest(bytes) {}
  bool isAtEnd() const { return rest.empty() || !isGood; }
  template <typename T> T get() {
    T value = {};
    std::string_view bytes = take(sizeof(T));
    if (isGood)
      memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  std::string_view take(uint64_t bytes) {
    if (bytes > rest.size())
      isGood = false;
    if (!isGood)
      return {};
    std::string_view taken = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    return taken;
  }
  bool isGood = true;

private:
  std::string_view rest;
};

} // namespace hone::ptx
