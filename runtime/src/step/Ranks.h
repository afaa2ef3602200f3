//===- Ranks.h - Programs that share the batches of a step ----------------===//
//
// Batch b of a step is rank b mod R's; a round is a batch of each. A batch
// gives numbers, which all ranks have, and a gradient, which the owner of a
// slice adds in the order of the batches. So all ranks have the bits of one
// program with all batches. Ring and tree sums have others, and change them
// with R and the size, so they are not used.
//
// Of G bytes of gradient a rank sends (R - 1) / R G in each round, and as much
// once a step, when owners give their sums to all.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Dtype.h"
#include "step/Transport.h"

#include <deque>
#include <string>
#include <vector>

namespace hone::rt {

class Ranks {
public:
  /// The schedule and step of messages.
  struct Step {
    uint32_t schedule; ///< hone_purpose
    uint64_t completed;
    uint64_t round; ///< of the step, from 0
  };
  /// Of a piece of the gradient, or of anything else that travels in pieces,
  /// each in a frame. Each rank has a session with all others, and all are to
  /// fit 4 MiB, so among more ranks pieces are shorter. Beyond nine ranks
  /// sessions take more than that without any piece.
  static constexpr uint64_t pieceBytes(uint64_t ranks) {
    return (ranks <= 2 ? 128 : ranks <= 5 ? 32 : 16) * 1024;
  }
  /// Of pieces that a rank has asked for. So short ones leave unasked over Open
  /// MPI's TCP, which keeps those that come while nobody looks.
  static constexpr uint64_t keptBytes(uint64_t ranks) {
    return ranks <= 2 ? 0 : kAsked * ranks * pieceBytes(ranks);
  }

  /// `names` are those by which `transport` knows the ranks, in their order.
  Ranks(Transport &transport, std::vector<std::string> names, uint32_t rank)
      : transport(transport), names(std::move(names)), own(rank) {}

  uint32_t rank() const { return own; }
  uint32_t count() const { return uint32_t(names.size()); }

  /// Gathers `bytes` of each rank below `givers`, in their order, into `all`,
  /// which has this rank's already. Errors: as Transport::wait.
  Status gather(const Step &step, char *all, uint64_t bytes, uint32_t givers);
  /// Copies `bytes` of the first rank to all. Errors: as Transport::wait.
  Status spread(const Step &step, char *bytes, uint64_t size);

  /// Where the gradient is that fold() is of, in the host's memory; `sum` is
  /// memory for this rank's slice where steps have several rounds.
  void setGradient(char *address, uint64_t elements, Dtype dtype);
  /// hone.fold of a round in which the ranks below `givers` have a batch.
  /// Errors: as Transport::wait.
  Status fold(const Step &step, uint32_t givers, bool isLast);

  /// Memory that fold() takes beside the gradient, of `gradientBytes` shared by
  /// `ranks`; `hasRounds`: a step may have several.
  static uint64_t foldBytes(uint64_t gradientBytes, uint32_t ranks,
                            bool hasRounds);

  /// The bytes that it has taken of that.
  uint64_t takenBytes() const {
    return arriving.capacity() + adding.capacity() + sum.capacity();
  }

  /// Bytes of values that this rank has sent.
  uint64_t sent() const { return sentBytes; }

private:
  /// Pieces that a rank asks for at once, for each rank.
  static constexpr uint64_t kAsked = 2;
  /// Messages that are posted and not yet waited for, the oldest first.
  class Posted;

  /// Slice of rank `owner`: elements from begin to end.
  uint64_t beginOf(uint32_t owner) const {
    return elements / count() * owner +
           std::min<uint64_t>(owner, elements % count());
  }
  /// Piece `piece` of it.
  struct Piece {
    uint64_t first, count; ///< elements; none after the last piece
  };
  Piece pieceOf(uint32_t owner, uint64_t piece) const;
  uint64_t mostPieces() const { return pieces(beginOf(1)); }
  uint64_t pieces(uint64_t ofElements) const {
    const uint64_t most = pieceBytes(count()) / dtypeBytes(dtype);
    return (ofElements + most - 1) / most;
  }
  char *at(const Piece &piece) const {
    return gradient + piece.first * dtypeBytes(dtype);
  }
  uint64_t bytesOf(const Piece &piece) const {
    return piece.count * dtypeBytes(dtype);
  }

  /// Adds the own slice of the ranks below `givers` to the sum.
  Status addSlice(const Step &step, uint32_t givers, bool isLast);
  /// Gives the own slice's sum to all, and has theirs.
  Status shareSums(const Step &step);
  Transport::Message name(const Step &step, const char *channel, uint64_t index,
                          uint32_t peer, bool isSent) const {
    return {step.schedule, step.completed,      channel,
            index,         names[peer].c_str(), isSent};
  }

  Transport &transport;
  std::vector<std::string> names;
  uint32_t own;
  char *gradient = nullptr;
  uint64_t elements = 0;
  Dtype dtype = Dtype::F32;
  /// Where two pieces arrive, and one is added up where all steps have one
  /// round.
  std::vector<char> arriving, adding;
  std::vector<char> sum; ///< of the own slice, over the rounds of a step
  uint64_t sentBytes = 0;
};

} // namespace hone::rt
