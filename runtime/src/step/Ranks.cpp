//===- Ranks.cpp - Programs that share the batches of a step --------------===//

#include "step/Ranks.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

/// One that posts more waits for the oldest first, so that a peer holds a
/// bounded number of messages. A failure leaves nothing posted.
class Ranks::Posted {
public:
  Posted(Ranks &ranks, size_t most) : ranks(ranks), most(most) {}
  Posted(const Posted &) = delete;
  ~Posted() {
    for (const Transport::Message &message : messages)
      ranks.transport.cancel(message);
  }

  Status post(const Transport::Message &message, char *bytes, uint64_t size) {
    if (messages.size() >= most)
      HONE_TRY(waitOldest());
    messages.push_back(message);
    if (!message.isSent)
      return ranks.transport.postReceive(message, bytes, size);
    ranks.sentBytes += size;
    return ranks.transport.postSend(message, bytes, size);
  }
  Status waitOldest() {
    HONE_TRY(ranks.transport.wait(messages.front()));
    messages.pop_front();
    return Status::ok();
  }
  Status waitAll() {
    while (!messages.empty())
      HONE_TRY(waitOldest());
    return Status::ok();
  }

private:
  Ranks &ranks;
  const size_t most;
  std::deque<Transport::Message> messages;
};

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Status Ranks::gather(const Step &step, char *all, uint64_t bytes,
                     uint32_t givers) {
  Posted receives(*this, count()), sends(*this, count());
  for (uint32_t peer = 0; peer < count(); ++peer) {
    if (peer == own)
      continue;
    if (peer < givers)
      HONE_TRY(
          receives.post(name(step, "ranks.numbers", step.round, peer, false),
                        all + peer * bytes, bytes));
    if (own < givers)
      HONE_TRY(sends.post(name(step, "ranks.numbers", step.round, peer, true),
                          all + own * bytes, bytes));
  }
  HONE_TRY(receives.waitAll());
  return sends.waitAll();
}

Status Ranks::spread(const Step &step, char *bytes, uint64_t size) {
  const uint64_t most = pieceBytes(count());
  Posted posted(*this, kAsked * count());
  for (uint64_t at = 0, index = step.round; at < size; at += most, ++index) {
    const uint64_t part = std::min(most, size - at);
    if (own != 0) {
      HONE_TRY(posted.post(name(step, "ranks.state", index, 0, false),
                           bytes + at, part));
      continue;
    }
    for (uint32_t peer = 1; peer < count(); ++peer)
      HONE_TRY(posted.post(name(step, "ranks.state", index, peer, true),
                           bytes + at, part));
  }
  return posted.waitAll();
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

void Ranks::setGradient(char *address, uint64_t count, Dtype of) {
  gradient = address;
  elements = count;
  dtype = of;
}

uint64_t Ranks::foldBytes(uint64_t gradientBytes, uint32_t ranks,
                          bool hasRounds) {
  const uint64_t piece = pieceBytes(ranks);
  return gradientBytes == 0 || ranks == 1
             ? 0
             : 2 * piece + (hasRounds ? gradientBytes / ranks + 64 : piece);
}

Ranks::Piece Ranks::pieceOf(uint32_t owner, uint64_t piece) const {
  const uint64_t most = pieceBytes(count()) / dtypeBytes(dtype);
  const uint64_t end = beginOf(owner + 1);
  const uint64_t first = std::min(beginOf(owner) + piece * most, end);
  return {first, std::min(most, end - first)};
}

/// Adds `count` numbers, or has them for a beginning.
template <typename T>
static void addTo(char *sum, const char *terms, uint64_t count, bool isFirst) {
  T *to = reinterpret_cast<T *>(sum);
  const T *from = reinterpret_cast<const T *>(terms);
  for (uint64_t i = 0; i < count; ++i)
    to[i] = isFirst ? from[i] : to[i] + from[i];
}

Status Ranks::addSlice(const Step &step, uint32_t givers, bool isLast) {
  const uint64_t size = dtypeBytes(dtype), base = step.round * mostPieces();
  // A step of one round needs a piece, and has it of a step before that had
  // several.
  const bool hasRounds = step.round > 0 || !isLast || !sum.empty();
  const uint64_t most = pieceBytes(count());
  arriving.resize(2 * most);
  if (hasRounds) {
    std::vector<char>().swap(adding);
    sum.resize((beginOf(own + 1) - beginOf(own)) * size);
  } else {
    adding.resize(most);
  }
  Posted sends(*this, kAsked * count()), receives(*this, 2);
  // Terms from others, in the order in which they are added.
  std::vector<uint32_t> others;
  for (uint32_t giver = 0; giver < givers; ++giver)
    if (giver != own)
      others.push_back(giver);
  const uint64_t slice = pieces(beginOf(own + 1) - beginOf(own));
  const uint64_t terms = slice * others.size();
  uint64_t asked = 0, added = 0;
  auto placeOf = [&](uint64_t term) {
    return arriving.data() + term % 2 * most;
  };
  auto ask = [&]() -> Status {
    if (asked == terms)
      return Status::ok();
    const uint64_t term = asked++, piece = term / others.size();
    return receives.post(name(step, "ranks.gradient", base + piece,
                              others[term % others.size()], false),
                         placeOf(term), bytesOf(pieceOf(own, piece)));
  };
  HONE_TRY(ask());
  for (uint64_t k = 0; k < mostPieces(); ++k) {
    for (uint32_t owner = 0; owner < count() && own < givers; ++owner) {
      const Piece piece = pieceOf(owner, k);
      if (owner != own && piece.count > 0)
        HONE_TRY(sends.post(name(step, "ranks.gradient", base + k, owner, true),
                            at(piece), bytesOf(piece)));
    }
    const Piece piece = pieceOf(own, k);
    if (piece.count == 0)
      continue;
    char *const to = hasRounds
                         ? sum.data() + (piece.first - beginOf(own)) * size
                         : adding.data();
    for (uint32_t giver = 0; giver < givers; ++giver) {
      const char *from = at(piece);
      if (giver != own) {
        HONE_TRY(ask());
        HONE_TRY(receives.waitOldest());
        from = placeOf(added++);
      }
      const bool isFirst = step.round == 0 && giver == 0;
      if (dtype == Dtype::F64)
        addTo<double>(to, from, piece.count, isFirst);
      else
        addTo<float>(to, from, piece.count, isFirst);
    }
    if (isLast)
      memcpy(at(piece), to, bytesOf(piece));
  }
  return sends.waitAll();
}

Status Ranks::shareSums(const Step &step) {
  const uint64_t most = kAsked * count();
  Posted sends(*this, most), receives(*this, most);
  for (uint64_t k = 0; k < mostPieces(); ++k)
    for (uint32_t peer = 0; peer < count(); ++peer) {
      if (peer == own)
        continue;
      if (const Piece piece = pieceOf(peer, k); piece.count > 0)
        HONE_TRY(receives.post(name(step, "ranks.sum", k, peer, false),
                               at(piece), bytesOf(piece)));
      if (const Piece piece = pieceOf(own, k); piece.count > 0)
        HONE_TRY(sends.post(name(step, "ranks.sum", k, peer, true), at(piece),
                            bytesOf(piece)));
    }
  HONE_TRY(receives.waitAll());
  return sends.waitAll();
}

Status Ranks::fold(const Step &step, uint32_t givers, bool isLast) {
  HONE_TRY(addSlice(step, givers, isLast));
  if (isLast)
    return shareSums(step);
  memset(gradient, 0, elements * dtypeBytes(dtype));
  return Status::ok();
}

} // namespace hone::rt
