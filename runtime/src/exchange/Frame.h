//===- Frame.h - Frames between two sessions ------------------------------===//
//
//   offset size
//   0      1    kind
//   1      1    protocol
//   2      4    CRC-32C of all other bytes
//   6      8    run
//   14     8    channel: FNV-1a of its name
//   22     1-5  schedule
//          1-10 step
//          1-10 index
//          1-10 offset of the payload in its message
//          1-10 bytes of the message
//          1-5  bytes of the payload
//               payload
//
// A number after the channel has seven bits in each byte, the low ones first,
// and the eighth in each but its last; it has no more bytes than it needs. So
// a frame without a payload has about 30 bytes.
//
// A greeting has the form of protocols 1 to 3, so that all builds can read it:
//
//   offset size
//   0      4    "HONE"
//   4      2    protocol
//   6      2    kind, 1
//   8      8    run
//   16     4    0
//   20     4    bytes of the payload
//   24     32   0
//   56     8    whether it asks for the peer's
//   64     4    CRC-32C of bytes 0 to 63 and the payload
//   68     4    0
//   72          payload
//
// Little endian. Nothing of a frame is believed: each field is compared with
// the messages that the schedule posted.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "exchange/FrameLength.h"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace hone::rt {

constexpr uint16_t kProtocol = 6;
/// The longest.
constexpr uint64_t kFrameHeader = 72;
/// The schedule of messages that are of no round, and their step is any number.
constexpr uint32_t kControl = 0xffffffff;
/// The message of a frame, the same for both sides.
struct MessageName {
  uint32_t schedule = 0;
  uint64_t step = 0, channel = 0, index = 0;

  bool operator<(const MessageName &o) const {
    return std::tie(schedule, step, channel, index) <
           std::tie(o.schedule, o.step, o.channel, o.index);
  }
};

enum class FrameKind : uint16_t {
  Greeting = 1, ///< payload: the process and a digest
  Credit = 2,   ///< a receive is posted: send from `offset` on
  Data = 3,
  Offer = 4,    ///< a send waits: is there a receive, or was it complete?
  Ack = 5,      ///< a message is complete
  Farewell = 6, ///< nothing is sent any more, and nothing is needed; payload:
                ///< the program that is busy, if that is why
  Refusal = 7,  ///< payload: why nothing more of this process is read
};

struct Frame {
  FrameKind kind = FrameKind::Data;
  uint64_t run = 0;
  MessageName name;
  uint64_t offset = 0, size = 0;
  const char *payload = nullptr;
  uint32_t payloadBytes = 0;
};

uint64_t channelNumber(const char *name);
/// CRC-32C (Castagnoli) of `bytes`, after `before`.
uint32_t crc32c(const void *bytes, uint64_t size, uint32_t before = 0);

/// The bytes of its header, as encode() writes it.
uint64_t headerBytes(const Frame &frame);
/// Into kFrameHeader + payloadBytes bytes, at most; returns how many.
uint64_t encode(const Frame &frame, char *out);
/// None if it is no whole frame of this protocol, but for a greeting, which
/// says its protocol and is the same in all. The payload is in `bytes`.
std::optional<Frame> decode(const char *bytes, uint64_t size);

} // namespace hone::rt
