//===- FrameLength.cpp - How long the frames over a link are --------------===//

#include "exchange/FrameLength.h"

namespace hone::rt {

uint64_t FrameLength::payloadAfter(uint64_t bytes, double took,
                                   uint64_t limit) const {
  const double carried = seconds * double(bytes);
  if (carried >= double(limit) * took)
    return limit;
  return std::max(std::min(kFramePayload, limit), uint64_t(carried / took));
}

uint64_t FrameLength::next(Message &message, uint64_t offset, uint64_t size,
                           double now) {
  if (message.last == 0)
    message = {now, offset, now, offset, 0};
  // An engine takes a frame once the one before has left, so of all that it
  // took only the last may still be under way.
  const uint64_t left = offset - std::min(message.last, offset);
  if (left > message.left)
    payload = std::min(payload, payloadAfter(left - message.left,
                                             now - message.asked, payload));
  message.left = left;
  message.asked = now;
  return message.last = std::min(payload, size - offset);
}

void FrameLength::acknowledge(const Message &message, uint64_t size,
                              double now) {
  // None of it need have gone over this link, and a single frame of any link
  // says little.
  if (message.last > 0 && size - message.start > kFramePayload)
    payload = payloadAfter(size - message.start, now - message.begun, most);
}

} // namespace hone::rt
