//===- Gzip.cpp - Compressed data files -----------------------------------===//
//
// Codes are canonical, so a code is known by how many there are of each length
// and the symbols in their order (RFC 1951, 3.2.2); the first nine bits of most
// codes are looked up at once.
//
//===----------------------------------------------------------------------===//

#include "data/Gzip.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace hone::rt {

namespace {

constexpr unsigned MostBits = 15, TableBits = 9;
constexpr size_t WindowBytes = 32 * 1024, BufferBytes = 128 * 1024;
/// Growth of a file that is text, at most.
constexpr uint64_t MostGrowth = 256, AlwaysAllowed = 64 * 1024 * 1024;

class Huffman {
public:
  /// False when no code has these lengths; one that is not complete is one
  /// only if it has a single symbol or none.
  bool make(const uint8_t *lengths, size_t size) {
    counts.fill(0);
    for (size_t i = 0; i < size; ++i)
      ++counts[lengths[i]];
    int left = 1;
    for (unsigned bits = 1; bits <= MostBits; ++bits) {
      left = 2 * left - counts[bits];
      if (left < 0)
        return false;
    }
    const size_t used = size - counts[0];
    if (left > 0 && !(used == 0 || (used == 1 && counts[1] == 1)))
      return false;
    counts[0] = 0;
    std::array<uint16_t, MostBits + 2> starts{};
    for (unsigned bits = 1; bits <= MostBits; ++bits)
      starts[bits + 1] = uint16_t(starts[bits] + counts[bits]);
    for (size_t i = 0; i < size; ++i)
      if (lengths[i] != 0)
        symbols[starts[lengths[i]]++] = uint16_t(i);
    fillTable();
    return true;
  }

  /// Symbol and length of the code that `bits` begins with, the first bit
  /// lowest; length 0: there is none within `most` bits.
  void find(uint32_t bits, unsigned most, unsigned &symbol,
            unsigned &length) const {
    const uint16_t entry = table[bits & ((1u << TableBits) - 1)];
    if (entry != 0) {
      symbol = entry >> 4;
      length = entry & 15;
      length = length <= most ? length : 0;
      return;
    }
    int code = 0, first = 0, index = 0;
    for (length = 1; length <= std::min(most, MostBits); ++length) {
      code |= int(bits & 1);
      bits >>= 1;
      const int count = counts[length];
      if (code - count < first) {
        symbol = symbols[size_t(index + (code - first))];
        return;
      }
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    length = 0;
  }

private:
  void fillTable() {
    table.fill(0);
    unsigned code = 0, index = 0;
    for (unsigned length = 1; length <= TableBits; ++length) {
      for (unsigned i = 0; i < counts[length]; ++i, ++code, ++index) {
        unsigned reversed = 0;
        for (unsigned bit = 0; bit < length; ++bit)
          reversed |= (code >> bit & 1) << (length - 1 - bit);
        for (unsigned at = reversed; at < 1u << TableBits; at += 1u << length)
          table[at] = uint16_t(symbols[index] << 4 | length);
      }
      code <<= 1;
    }
  }

  std::array<uint16_t, MostBits + 1> counts{};
  std::array<uint16_t, 288> symbols{};
  std::array<uint16_t, 1 << TableBits> table{}; ///< symbol and length, or 0
};

class Decompressor {
public:
  Decompressor(const MappedFile &file, OutputFile &out,
               const std::function<Status()> &onProgress)
      : file(file), input(file.bytes()), out(out), onProgress(onProgress),
        buffer(BufferBytes) {
    most =
        std::max(AlwaysAllowed, uint64_t(input.size()) > UINT64_MAX / MostGrowth
                                    ? UINT64_MAX
                                    : input.size() * MostGrowth);
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit)
        value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
      crcTable[i] = value;
    }
  }

  Status run() {
    do
      HONE_TRY(member());
    while (!isAtEnd());
    return Status::ok();
  }

private:
  // Input.
  Status bad(const std::string &problem) const {
    return Status(ErrorCode::DamagedArchive, file.path(),
                  problem + " at byte " + std::to_string(at),
                  "take the file again from where it came from; gunzip -t "
                  "tells whether it is whole");
  }
  Status endsEarly() const {
    return bad("expected more compressed data but the file ends");
  }
  /// Zeros after the last member pad it.
  bool isAtEnd() {
    while (at < input.size() && input[at] == '\0')
      ++at;
    return at >= input.size();
  }
  void fill() {
    while (bitCount <= 24 && at < input.size()) {
      bits |= uint32_t(uint8_t(input[at++])) << bitCount;
      bitCount += 8;
    }
  }
  /// Up to 16.
  bool take(unsigned count, unsigned &value) {
    fill();
    if (bitCount < count)
      return false;
    value = bits & ((1u << count) - 1);
    bits = count == 32 ? 0 : bits >> count;
    bitCount -= count;
    return true;
  }
  Status symbol(const Huffman &code, unsigned &value) {
    fill();
    unsigned length = 0;
    code.find(bits, bitCount, value, length);
    if (length == 0)
      return bitCount < MostBits && at >= input.size()
                 ? endsEarly()
                 : bad("found bits that are no code");
    bits >>= length;
    bitCount -= length;
    return Status::ok();
  }
  /// Whole bytes that were taken too early go back.
  void toByte() {
    at -= bitCount / 8;
    bits = bitCount = 0;
  }
  bool bytes(size_t count, std::string_view &value) {
    value = input.substr(std::min(at, input.size()), count);
    at += value.size();
    return value.size() == count;
  }
  static uint32_t number(std::string_view four) {
    uint32_t value = 0;
    for (size_t i = four.size(); i-- > 0;)
      value = value << 8 | uint8_t(four[i]);
    return value;
  }

  // Output.
  Status flush(size_t keep) {
    for (size_t i = written; i < used; ++i)
      crc = crcTable[(crc ^ uint8_t(buffer[i])) & 0xFF] ^ crc >> 8;
    HONE_TRY(out.write(buffer.data() + written, used - written));
    const size_t kept = std::min(keep, used);
    std::memmove(buffer.data(), buffer.data() + used - kept, kept);
    used = written = kept;
    if (at - reported >= MappedFile::VisitBytes) {
      reported = at;
      file.releaseBehind(at);
      if (onProgress)
        HONE_TRY(onProgress());
    }
    return Status::ok();
  }
  /// Room for `count` bytes more, at most WindowBytes.
  Status reserve(size_t count) {
    produced += count;
    if (produced > most - std::min(total, most))
      return Status(ErrorCode::DamagedArchive, file.path(),
                    "expected at most " + std::to_string(most) +
                        " bytes when decompressed, " +
                        std::to_string(MostGrowth) +
                        " times the file, but found more",
                    "decompress it with gunzip if it is what it should be");
    return used + count > BufferBytes ? flush(WindowBytes) : Status::ok();
  }

  Status member();
  Status skipHeader();
  Status stored();
  Status block(const Huffman &literals, const Huffman &distances);
  Status fixedBlock();
  Status dynamicBlock();

  const MappedFile &file;
  std::string_view input;
  OutputFile &out;
  const std::function<Status()> &onProgress;
  size_t at = 0, reported = 0;
  uint32_t bits = 0;
  unsigned bitCount = 0;
  std::vector<char> buffer;
  size_t used = 0, written = 0;               ///< of the buffer
  uint64_t produced = 0, total = 0, most = 0; ///< by this member, by others
  uint32_t crc = 0;
  std::array<uint32_t, 256> crcTable{};
  Huffman literalCode, distanceCode;
};

Status Decompressor::skipHeader() {
  std::string_view head, extra;
  const bool isWhole = bytes(10, head);
  if (head.substr(0, 3) !=
      std::string_view("\x1F\x8B\x08").substr(0, head.size()))
    return bad("expected another compressed part, or the end, but found "
               "something else");
  if (!isWhole)
    return endsEarly();
  const auto flags = uint8_t(head[3]);
  if ((flags & 0xE0) != 0)
    return bad("found flags of gzip that nobody has defined");
  if (flags & 4 && (!bytes(2, extra) || !bytes(number(extra), extra)))
    return endsEarly();
  for (unsigned text : {8u, 16u}) { // name and comment
    if ((flags & text) == 0)
      continue;
    const size_t end = input.find('\0', at);
    if (end == std::string_view::npos)
      return endsEarly();
    at = end + 1;
  }
  if (flags & 2 && !bytes(2, extra))
    return endsEarly();
  return Status::ok();
}

Status Decompressor::stored() {
  toByte();
  std::string_view sizes, part;
  if (!bytes(4, sizes))
    return endsEarly();
  const uint32_t both = number(sizes);
  if ((both & 0xFFFF) != (~both >> 16 & 0xFFFF))
    return bad("found a stored block whose two sizes disagree");
  for (size_t left = both & 0xFFFF; left > 0; left -= part.size()) {
    const size_t count = std::min(left, WindowBytes);
    HONE_TRY(reserve(count));
    if (!bytes(count, part))
      return endsEarly();
    std::memcpy(buffer.data() + used, part.data(), count);
    used += count;
  }
  return Status::ok();
}

Status Decompressor::block(const Huffman &literals, const Huffman &distances) {
  static constexpr uint16_t Lengths[] = {
      3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
      31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  static constexpr uint8_t LengthBits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1,
                                           1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
                                           4, 4, 4, 4, 5, 5, 5, 5, 0};
  static constexpr uint16_t Distances[] = {
      1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
      33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
      1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
  static constexpr unsigned EndOfBlock = 256;
  for (;;) {
    unsigned found = 0, extra = 0;
    HONE_TRY(symbol(literals, found));
    if (found < EndOfBlock) {
      HONE_TRY(reserve(1));
      buffer[used++] = char(found);
      continue;
    }
    if (found == EndOfBlock)
      return Status::ok();
    found -= EndOfBlock + 1;
    if (found >= std::size(Lengths))
      return bad("found a length that there is not");
    if (!take(LengthBits[found], extra))
      return endsEarly();
    const size_t length = Lengths[found] + extra;
    HONE_TRY(symbol(distances, found));
    if (found >= std::size(Distances))
      return bad("found a distance that there is not");
    if (!take(found < 4 ? 0 : found / 2 - 1, extra))
      return endsEarly();
    const size_t distance = Distances[found] + extra;
    HONE_TRY(reserve(length));
    if (distance > used || distance > produced - length)
      return bad("found a distance to before the beginning");
    for (size_t i = 0; i < length; ++i, ++used) // they may overlap
      buffer[used] = buffer[used - distance];
  }
}

Status Decompressor::fixedBlock() {
  uint8_t lengths[288];
  std::fill_n(lengths, 144, uint8_t(8));
  std::fill_n(lengths + 144, 112, uint8_t(9));
  std::fill_n(lengths + 256, 24, uint8_t(7));
  std::fill_n(lengths + 280, 8, uint8_t(8));
  literalCode.make(lengths, 288);
  std::fill_n(lengths, 32, uint8_t(5));
  distanceCode.make(lengths, 32);
  return block(literalCode, distanceCode);
}

Status Decompressor::dynamicBlock() {
  static constexpr uint8_t Order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
  unsigned literals = 0, distances = 0, codes = 0;
  if (!take(5, literals) || !take(5, distances) || !take(4, codes))
    return endsEarly();
  literals += 257;
  distances += 1;
  if (literals > 286 || distances > 30)
    return bad("found more codes than there are");
  uint8_t lengths[320] = {};
  for (unsigned i = 0; i < codes + 4; ++i) {
    unsigned length = 0;
    if (!take(3, length))
      return endsEarly();
    lengths[Order[i]] = uint8_t(length);
  }
  Huffman &lengthCode = literalCode;
  if (!lengthCode.make(lengths, 19))
    return bad("found lengths that no code has");
  uint8_t both[320] = {};
  for (unsigned i = 0; i < literals + distances;) {
    unsigned found = 0, extra = 0;
    HONE_TRY(symbol(lengthCode, found));
    if (found < 16) {
      both[i++] = uint8_t(found);
      continue;
    }
    if (found == 16 && i == 0)
      return bad("found a repeated length with none before it");
    if (!take(found == 16 ? 2 : found == 17 ? 3 : 7, extra))
      return endsEarly();
    const unsigned count = extra + (found == 18 ? 11 : 3);
    if (i + count > literals + distances)
      return bad("found more lengths than codes");
    std::fill_n(both + i, count, found == 16 ? both[i - 1] : uint8_t(0));
    i += count;
  }
  if (both[256] == 0 || !literalCode.make(both, literals) ||
      !distanceCode.make(both + literals, distances))
    return bad("found lengths that no code has");
  return block(literalCode, distanceCode);
}

Status Decompressor::member() {
  HONE_TRY(skipHeader());
  crc = 0xFFFFFFFF;
  produced = 0;
  used = written = 0;
  for (unsigned isLast = 0, kind = 0; !isLast;) {
    if (!take(1, isLast) || !take(2, kind))
      return endsEarly();
    if (kind == 3)
      return bad("found a block of a kind that there is not");
    HONE_TRY(kind == 0 ? stored() : kind == 1 ? fixedBlock() : dynamicBlock());
  }
  toByte();
  HONE_TRY(flush(0));
  total += produced;
  std::string_view sum, size;
  if (!bytes(4, sum) || !bytes(4, size))
    return endsEarly();
  if (number(sum) != ~crc || number(size) != uint32_t(produced))
    return bad("the file's own checksum says that it is damaged");
  return Status::ok();
}

} // namespace

bool isGzip(std::string_view bytes) {
  return bytes.substr(0, 3) == "\x1F\x8B\x08";
}

Status decompress(const MappedFile &file, OutputFile &out,
                  const std::function<Status()> &onProgress) {
  return Decompressor(file, out, onProgress).run();
}

} // namespace hone::rt
