//===- FrameLength.h - How long the frames over a link are ----------------===//
//
// A frame has as many bytes as its link carries in some seconds, so that a cut
// costs no more than that, and on a slow link each frame that comes is
// progress. They are not fewer, since an engine may answer each frame: where
// frames are short, answers are most of the bytes that gRPC sends back. A link
// that has shown nothing yet is taken for a slow one. An acknowledgement says
// how quick it is, and within a message the frames that have left, since a link
// may grow slow.
//
// Time is in seconds, and the caller says when.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <algorithm>
#include <cstdint>

namespace hone::rt {

/// The payload of a frame over any link, at most.
constexpr uint64_t kFramePayload = 256 * 1024;
/// Over one that is quick, of an engine that takes so much.
constexpr uint64_t kMostFramePayload = 896 * 1024;
/// The time of a frame longer than kFramePayload, at most. So a link of a
/// megabit a second has the longest.
constexpr double kFrameSeconds = 8;

class FrameLength {
public:
  /// A message, as far as it has left over this link.
  struct Message {
    double begun = 0;   ///< when it left from `start` on
    uint64_t start = 0; ///< bytes
    double asked = 0;   ///< when the frame before was asked for
    uint64_t left = 0;  ///< bytes that had left by then
    uint64_t last = 0;  ///< of it, in the frame before; 0: there is none
  };

  /// For a link whose frames have a payload of `most` bytes, at most, and take
  /// so many `seconds` if they are longer than kFramePayload.
  explicit FrameLength(uint64_t most, double seconds = kFrameSeconds)
      : most(most), seconds(seconds) {
    beginLink();
  }

  /// The link is a new one, which has shown nothing.
  void beginLink() { payload = std::min(kFramePayload, most); }

  /// The payload of the next frame of a message of `size` bytes, from `offset`
  /// on; the engine has taken the one before.
  uint64_t next(Message &message, uint64_t offset, uint64_t size, double now);
  /// All of the message has arrived.
  void acknowledge(const Message &message, uint64_t size, double now);

private:
  /// The payload of frames, after `bytes` of a message took so long to arrive:
  /// from kFramePayload to `limit`.
  uint64_t payloadAfter(uint64_t bytes, double took, uint64_t limit) const;

  uint64_t most;
  double seconds;
  uint64_t payload;
};

} // namespace hone::rt
