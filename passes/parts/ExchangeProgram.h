//===- ExchangeProgram.h - Whether parts' exchanges fit together ----------===//
//
// The messages in the schedules of all parts, without IR, run symbolically:
// every repeat of every part a few times, since counts are the same in all
// parts and the steady state begins after as many iterations as there are
// stages.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone {

/// An item of a schedule as far as messages go.
struct ExchangeItem {
  enum class Kind {
    Other, ///< reads and makes values
    Send,
    Receive,
    Wait,
    Repeat,
  };
  Kind kind = Kind::Other;
  int64_t stage = 0;
  /// Values. Send and Wait read theirs first, Receive makes it; the batch whose
  /// rows they need comes after it.
  std::vector<size_t> reads, makes;
  size_t body = 0; ///< Repeat: how many items after it
  // Send and Receive:
  std::string peer, channel, type;
  /// Whether it may arrive before its receive is posted.
  bool isSmall = false;
  /// Whether the receiver posts the rest when it waits: a batch, whose rows
  /// come first.
  bool comesInPieces = false;
  int64_t behind = 0;
};

struct ExchangeProgram {
  struct Value {
    int64_t slots = 1;
    size_t depth = 0; ///< of how many repeats it is inside
  };
  std::string part;
  std::vector<ExchangeItem> items;
  std::vector<Value> values;
};

struct ExchangeProblem {
  size_t program, item; ///< where it is seen
  std::string text;     ///< "is sent to 'upper', which does not receive it"
};

/// The first thing that does not fit:
///   every send has one receive, of the same type, and the other way round;
///   each is waited for, before its value is read or made anew;
///   nobody waits for ever.
std::optional<ExchangeProblem>
findExchangeProblem(const std::vector<ExchangeProgram> &programs);

} // namespace hone
