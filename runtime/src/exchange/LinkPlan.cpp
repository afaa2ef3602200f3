//===- LinkPlan.cpp - Memory for links between programs -------------------===//

#include "exchange/LinkPlan.h"

#include "exchange/Frame.h"
#include "exchange/RecentNames.h"

#include <algorithm>

namespace hone::rt {

/// Of a session's stack, which is resident as far as it is used, twice the
/// bytes that were seen in use.
static constexpr uint64_t kStackUsed = 16 * 1024;
/// Small messages that come before they are asked for, and credits. They are
/// few.
static constexpr uint64_t kEarlyBytes = 4 * 1024;
/// Of a program's plan, for an engine that does not say and all its links.
static constexpr uint64_t kPlanBytes = 16 << 20;
/// A record of TLS: pieces that are shorter than they might be are multiples of
/// it, and at least one where an engine does not say.
static constexpr uint64_t kRecord = 16 * 1024;
/// Links of a program: to the ones before and after it.
static constexpr uint64_t kMostNeighbours = 2;

LinkPlan::LinkPlan(const hone_engine &engine, uint64_t programs)
    : engine(engine), others(std::max<uint64_t>(programs, 1) - 1) {}

/// One that comes and one that leaves, and the engine's copies.
static uint64_t framesOf(const hone_engine &engine) {
  return 2 + engine.link_frames;
}

uint32_t LinkPlan::namesRemembered(const hone_engine &engine) {
  // Both sides' schedules are at most a step apart. Where frames come once and
  // in order, nothing comes twice but small messages whose acknowledgement is
  // on its way, and messages that were not acknowledged when a link was lost.
  return engine.is_ordered ? 256 : 4096;
}

uint64_t LinkPlan::linkBytes(uint64_t payload) const {
  return kStackUsed + framesOf(engine) * (kFrameHeader + payload) +
         (kLeastRoom - std::min(kLeastRoom, payload)) +
         RecentNames::bytes(namesRemembered(engine)) + kEarlyBytes +
         engine.link_bytes;
}

uint64_t LinkPlan::bytes(const std::vector<uint64_t> &payloads) const {
  uint64_t bytes = engine.bytes + others * engine.program_bytes;
  for (uint64_t payload : payloads)
    bytes += linkBytes(payload);
  return bytes;
}

uint64_t LinkPlan::payloadFor(uint64_t longest) const {
  if (longest <= kShortMessage)
    return kShortPayload;
  const uint64_t most = engine.piece_bytes == 0
                            ? kFramePayload
                            : std::min(engine.piece_bytes, kMostFramePayload);
  const uint64_t shortest = std::max(engine.least_piece_bytes, kRecord);
  const uint64_t plan = engine.plan_bytes == 0 ? kPlanBytes : engine.plan_bytes;
  const uint64_t links = std::clamp<uint64_t>(others, 1, kMostNeighbours);
  const uint64_t least = bytes(std::vector<uint64_t>(links));
  const uint64_t left = plan - std::min(least, plan);
  const uint64_t each = left / (links * framesOf(engine)) / kRecord * kRecord;
  const uint64_t needed = (std::min(longest, most) + kShortPayload - 1) /
                          kShortPayload * kShortPayload;
  return std::min({most, std::max(each, shortest), needed});
}

} // namespace hone::rt
