//===- FrameLength.h - How long the frames over a link are ----------------===//
//
// A frame has what its link carries in half a second, so that a cut costs no
// more than that, and on a slow link each frame that comes is progress. A link
// that has shown nothing yet is taken for a slow one. An acknowledgement says
// how quick it is, and within a message the frames that have left, since a link
// may grow slow.
//
// Time is in seconds, and the caller says when.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>

namespace hone::rt {

/// The payload of a frame over any link, at most.
constexpr uint64_t kFramePayload = 256 * 1024;
/// Over one that is quick, of an engine that takes so much.
constexpr uint64_t kMostFramePayload = 896 * 1024;

/// The payload of the frames that follow, after `bytes` of a message took so
/// many `seconds` to arrive: from kFramePayload to `most`.
uint64_t payloadAfter(uint64_t bytes, double seconds, uint64_t most);

class FrameLength {
public:
  /// A message, as far as it has left over this link.
  struct Message {
    double begun = 0;   ///< when it left from `start` on
    uint64_t start = 0; ///< bytes
    uint64_t last = 0;  ///< of it, in the frame before; 0: there is none
  };

  /// Of a new link, whose frames have a payload of `most` bytes, at most.
  explicit FrameLength(uint64_t most)
      : most(most), payload(payloadAfter(0, 1, most)) {}

  /// The payload of the next frame of a message of `size` bytes, from `offset`
  /// on; the engine has taken the one before.
  uint64_t next(Message &message, uint64_t offset, uint64_t size, double now);
  /// All of the message has arrived.
  void acknowledge(const Message &message, uint64_t size, double now);

private:
  uint64_t most, payload;
};

} // namespace hone::rt
