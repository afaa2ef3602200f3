//===- LinkPlan.h - Memory for links between programs ---------------------===//
//
// Programs of one model form a chain, and each meets the ones before and after
// it. Frames are as long as two links can afford, so both sides of one find the
// same length, and short where messages are, as numbers.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "hone/engine.h"

#include <cstdint>
#include <vector>

namespace hone::rt {

/// The payload of a frame, at most, over a link without messages longer than
/// the second. A few of such frames leave at once over any engine.
constexpr uint64_t kShortPayload = 1024, kShortMessage = 16 * 1024;
/// The room of a frame, at least: for a greeting of another build.
constexpr uint64_t kLeastRoom = 4096;

class LinkPlan {
public:
  /// For a run of so many programs.
  LinkPlan(const hone_engine &engine, uint64_t programs);

  /// The payload of frames over a link of a chain whose messages have at most
  /// `longest` bytes.
  uint64_t payloadFor(uint64_t longest) const;

  /// Memory of a program that has a link with frames of each of these payloads:
  /// the engine's and the sessions'.
  uint64_t bytes(const std::vector<uint64_t> &payloads) const;

  /// Names of messages that a session remembers beyond the posted ones.
  static uint32_t namesRemembered(const hone_engine &engine);

private:
  uint64_t linkBytes(uint64_t payload) const;

  const hone_engine &engine;
  uint64_t others;
};

} // namespace hone::rt
