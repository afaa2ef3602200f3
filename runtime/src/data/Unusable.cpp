//===- Unusable.cpp - Samples that cannot be used -------------------------===//

#include "data/Unusable.h"

#include "base/Utf8.h"

namespace hone::rt {

bool UnusableSamples::isOfSample(const Status &status) {
  switch (*status.errorCode()) {
  case ErrorCode::BadLine:
  case ErrorCode::BadExample:
  case ErrorCode::ConversationRefused:
  case ErrorCode::DataNotUtf8:
  case ErrorCode::LineTooLong:
  case ErrorCode::MixedFormats:
  case ErrorCode::NoWordBoundary:
  case ErrorCode::OtherData:
  case ErrorCode::TokenOutOfRange:
  case ErrorCode::UnsupportedTurn:
    return true;
  default:
    return false;
  }
}

void UnusableSamples::add(const Status &status) {
  ++all;
  for (Reason &reason : reasons)
    if (reason.code == *status.errorCode()) {
      ++reason.count;
      return;
    }
  Message first = status.message();
  first.problem = shortened(first.problem, 256);
  if (first.place.size() > 256)
    first.place.erase(
        0, utf8CharacterStart(first.place, first.place.size() - 256));
  reasons.push_back({*status.errorCode(), 1, std::move(first)});
}

std::string UnusableSamples::notes() const {
  if (all == 0)
    return "";
  std::string out =
      "\nsamples that cannot be used and are left out: " + std::to_string(all);
  for (const Reason &reason : reasons)
    out += "\n  " + std::to_string(reason.count) + " with " +
           textOf(reason.code) + ", the first at " +
           printable(reason.first.place) + ": " +
           printable(reason.first.problem);
  return out;
}

} // namespace hone::rt
