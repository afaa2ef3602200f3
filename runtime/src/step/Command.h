//===- Command.h - Commands of the program that leads ---------------------===//
//
// Parts of one model run the same schedules in the same order. The one that has
// the data decides which; it says so before it runs one itself.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <cstdint>
#include <functional>

namespace hone::rt {

struct Command {
  enum class Kind : uint32_t {
    Step,      ///< the update after `step` updates
    Evaluate,  ///< from here on losses are of the parameters after `step`
               ///< updates
    Loss,      ///< of the batches that the leader loads
    Save,      ///< the parameters after `step` updates; is answered
    Durable,   ///< all have saved those, so older ones may go
    End,       ///< after `step` updates; is answered
    Best,      ///< the best evaluation was that after `step` updates
    LeaveBest, ///< the same; its parameters are the run's result
    Result     ///< all have it after `step` updates; is answered
  };
  Kind kind;
  uint64_t step;
};

/// Tells the others; empty: there are none.
using Lead = std::function<Status(Command)>;

} // namespace hone::rt
