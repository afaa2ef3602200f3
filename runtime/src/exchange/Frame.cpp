//===- Frame.cpp - What travels between two sessions ----------------------===//

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

uint64_t payloadAfter(uint64_t bytes, double seconds, uint64_t most) {
  const uint64_t least = std::min(kFramePayload, most);
  const double carried = 0.5 * double(bytes);
  if (carried >= double(most) * seconds)
    return most;
  return std::max(least, uint64_t(carried / seconds));
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

static constexpr uint32_t kMagic = 0x454e4f48; // "HONE"
static constexpr uint64_t kChecked = 64; // bytes of the header before its CRC

uint64_t encode(const Frame &frame, char *out) {
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
  if (frame.payloadBytes > 0)
    memcpy(at, frame.payload, frame.payloadBytes);
  return kFrameHeader + frame.payloadBytes;
}

std::optional<Frame> decode(const char *bytes, uint64_t size) {
  if (size < kFrameHeader || size > kFrameHeader + kMostFramePayload)
    return std::nullopt;
  const char *at = bytes;
  const auto magic = take<uint32_t>(at);
  const auto protocol = take<uint16_t>(at);
  Frame frame;
  const auto kind = take<uint16_t>(at);
  frame.kind = FrameKind(kind);
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
      magic == kMagic && zero == 0 && kind >= 1 &&
      (protocol == kProtocol || frame.kind == FrameKind::Greeting) &&
      kind <= uint16_t(FrameKind::Refusal) &&
      frame.payloadBytes == size - kFrameHeader && frame.offset <= frame.size &&
      crc == crc32c(frame.payload, frame.payloadBytes, crc32c(bytes, kChecked));
  return isWhole ? std::optional(frame) : std::nullopt;
}

} // namespace hone::rt
