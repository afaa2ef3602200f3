//===- Frame.cpp - The layout of frames -----------------------------------===//

#include "exchange/Frame.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace hone::rt {

uint64_t channelNumber(const char *name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *name; ++name)
    hash = (hash ^ uint8_t(*name)) * 0x100000001b3u;
  return hash;
}

using Tables = std::array<std::array<uint32_t, 256>, 8>;

/// tables[k][b]: the remainder of byte b with k zero bytes after it.
static constexpr Tables makeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] =
          tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 255];
  return tables;
}
static constexpr Tables kTables = makeTables();

uint32_t crc32c(const void *bytes, uint64_t size, uint32_t before) {
  const auto *at = static_cast<const uint8_t *>(bytes);
  uint32_t crc = ~before;
  for (; size >= 8; size -= 8, at += 8) {
    crc ^= uint32_t(at[0]) | uint32_t(at[1]) << 8 | uint32_t(at[2]) << 16 |
           uint32_t(at[3]) << 24;
    crc = kTables[7][crc & 255] ^ kTables[6][crc >> 8 & 255] ^
          kTables[5][crc >> 16 & 255] ^ kTables[4][crc >> 24] ^
          kTables[3][at[4]] ^ kTables[2][at[5]] ^ kTables[1][at[6]] ^
          kTables[0][at[7]];
  }
  for (; size > 0; --size, ++at)
    crc = crc >> 8 ^ kTables[0][(crc ^ *at) & 255];
  return ~crc;
}

template <typename T> static void put(char *&at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    *at++ = char(uint64_t(value) >> (8 * i));
}

template <typename T> static T take(const char *&at) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= uint64_t(uint8_t(*at++)) << (8 * i);
  return T(value);
}

/// Seven bits in each byte, and the eighth in each but the last.
static void putShort(char *&at, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    *at++ = char(value | 0x80);
  *at++ = char(value);
}

static uint64_t shortBytes(uint64_t value) {
  uint64_t bytes = 1;
  for (; value >= 0x80; value >>= 7)
    ++bytes;
  return bytes;
}

/// False: it does not end before `end`, has more bits than T, or more bytes
/// than it needs.
template <typename T>
static bool takeShort(const char *&at, const char *end, T &out) {
  uint64_t value = 0;
  for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
    const auto byte = uint8_t(*at++);
    const uint64_t bits = byte & 0x7f;
    if (bits << shift >> shift != bits)
      return false;
    value |= bits << shift;
    if (byte & 0x80)
      continue;
    out = T(value);
    return out == value && (byte != 0 || shift == 0);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// A greeting
//===----------------------------------------------------------------------===//

static constexpr uint32_t kMagic = 0x454e4f48; // "HONE"
static constexpr uint64_t kGreetingHeader = 72;
static constexpr uint64_t kChecked = 64; // bytes of the header before its CRC

static void encodeGreeting(const Frame &frame, char *out) {
  char *at = out;
  put(at, kMagic);
  put(at, kProtocol);
  put(at, uint16_t(frame.kind));
  put(at, frame.run);
  put(at, frame.name.schedule);
  put(at, frame.payloadBytes);
  put(at, frame.name.step);
  put(at, frame.name.channel);
  put(at, frame.name.index);
  put(at, frame.offset);
  put(at, frame.size);
  put(at, crc32c(frame.payload, frame.payloadBytes, crc32c(out, kChecked)));
  put(at, uint32_t(0));
}

static std::optional<Frame> decodeGreeting(const char *bytes, uint64_t size) {
  if (size < kGreetingHeader)
    return std::nullopt;
  const char *at = bytes + sizeof(kMagic) + sizeof(kProtocol);
  Frame frame;
  frame.kind = FrameKind(take<uint16_t>(at));
  frame.run = take<uint64_t>(at);
  frame.name.schedule = take<uint32_t>(at);
  frame.payloadBytes = take<uint32_t>(at);
  frame.name.step = take<uint64_t>(at);
  frame.name.channel = take<uint64_t>(at);
  frame.name.index = take<uint64_t>(at);
  frame.offset = take<uint64_t>(at);
  frame.size = take<uint64_t>(at);
  const auto crc = take<uint32_t>(at);
  const auto zero = take<uint32_t>(at);
  frame.payload = at;
  const bool isWhole =
      frame.kind == FrameKind::Greeting && zero == 0 &&
      frame.payloadBytes == size - kGreetingHeader &&
      frame.offset <= frame.size &&
      crc == crc32c(frame.payload, frame.payloadBytes, crc32c(bytes, kChecked));
  return isWhole ? std::optional(frame) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Any frame
//===----------------------------------------------------------------------===//

static constexpr uint64_t kBeforeCrc = 2, kAfterCrc = kBeforeCrc + 4;
static constexpr uint64_t kFixed = kAfterCrc + 8 + 8; // run and channel
static_assert(kFrameHeader == kFixed + 4 * 10 + 2 * 5);

/// The checksum of all but the CRC, in a frame of `size` bytes.
static uint32_t checksumOf(const char *bytes, uint64_t size) {
  return crc32c(bytes + kAfterCrc, size - kAfterCrc, crc32c(bytes, kBeforeCrc));
}

uint64_t headerBytes(const Frame &frame) {
  if (frame.kind == FrameKind::Greeting)
    return kGreetingHeader;
  return kFixed + shortBytes(frame.name.schedule) +
         shortBytes(frame.name.step) + shortBytes(frame.name.index) +
         shortBytes(frame.offset) + shortBytes(frame.size) +
         shortBytes(frame.payloadBytes);
}

uint64_t encode(const Frame &frame, char *out) {
  const uint64_t header = headerBytes(frame);
  const uint64_t size = header + frame.payloadBytes;
  if (frame.payloadBytes > 0)
    memcpy(out + header, frame.payload, frame.payloadBytes);
  if (frame.kind == FrameKind::Greeting) {
    encodeGreeting(frame, out);
    return size;
  }
  char *at = out;
  put(at, uint8_t(frame.kind));
  put(at, uint8_t(kProtocol));
  at = out + kAfterCrc;
  put(at, frame.run);
  put(at, frame.name.channel);
  for (uint64_t number :
       {uint64_t(frame.name.schedule), frame.name.step, frame.name.index,
        frame.offset, frame.size, uint64_t(frame.payloadBytes)})
    putShort(at, number);
  char *crc = out + kBeforeCrc;
  put(crc, checksumOf(out, size));
  return size;
}

std::optional<Frame> decode(const char *bytes, uint64_t size) {
  if (size < kFixed || size > kFrameHeader + kMostFramePayload)
    return std::nullopt;
  const char *at = bytes, *const end = bytes + size;
  if (take<uint32_t>(at) == kMagic)
    return decodeGreeting(bytes, size);
  at = bytes;
  Frame frame;
  const auto kind = take<uint8_t>(at);
  frame.kind = FrameKind(kind);
  const auto protocol = take<uint8_t>(at);
  const auto crc = take<uint32_t>(at);
  frame.run = take<uint64_t>(at);
  frame.name.channel = take<uint64_t>(at);
  const bool isWhole =
      protocol == kProtocol && kind > uint8_t(FrameKind::Greeting) &&
      kind <= uint8_t(FrameKind::Refusal) && crc == checksumOf(bytes, size) &&
      takeShort(at, end, frame.name.schedule) &&
      takeShort(at, end, frame.name.step) &&
      takeShort(at, end, frame.name.index) &&
      takeShort(at, end, frame.offset) && takeShort(at, end, frame.size) &&
      takeShort(at, end, frame.payloadBytes) &&
      frame.payloadBytes == uint64_t(end - at) && frame.offset <= frame.size;
  frame.payload = at;
  return isWhole ? std::optional(frame) : std::nullopt;
}

} // namespace hone::rt
