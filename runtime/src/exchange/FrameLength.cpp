//===- FrameLength.cpp - How long the frames over a link are --------------===//

#include "exchange/FrameLength.h"

#include <algorithm>

namespace hone::rt {

uint64_t payloadAfter(uint64_t bytes, double seconds, uint64_t most) {
  const uint64_t least = std::min(kFramePayload, most);
  const double carried = 0.5 * double(bytes);
  if (carried >= double(most) * seconds)
    return most;
  return std::max(least, uint64_t(carried / seconds));
}

uint64_t FrameLength::next(Message &message, uint64_t offset, uint64_t size,
                           double now) {
  if (message.last == 0)
    message = {now, offset, 0};
  // An engine takes a frame once the one before has left, so of all that it
  // took only the last may still be under way.
  const uint64_t underWay = message.start + message.last;
  if (offset > underWay)
    payload = std::min(
        payload, payloadAfter(offset - underWay, now - message.begun, payload));
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
