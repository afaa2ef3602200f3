//===- VirtualTransport.cpp - Messages of a program in virtual time -------===//

#include "compiler/simulate/VirtualTransport.h"

#include <algorithm>
#include <cstring>

namespace hone::simulate {

static constexpr uint64_t kMostCarried = 64 * 1024;

Network::Key VirtualTransport::keyOf(const Message &message) const {
  const auto peer = uint32_t(
      std::find(names.begin(), names.end(), message.peer) - names.begin());
  const rt::MessageName name{message.schedule, message.step,
                             rt::channelNumber(message.channel), message.index};
  return message.isSent ? Network::Key{program.number, peer, name}
                        : Network::Key{peer, program.number, name};
}

Status VirtualTransport::postSend(const Message &message, const char *bytes,
                                  uint64_t size) {
  const Network::Key key = keyOf(message);
  if (size <= kMostCarried)
    payloads[key].assign(bytes, size);
  program.postSend(key, size);
  return Status::ok();
}

Status VirtualTransport::postReceive(const Message &message, char *bytes,
                                     uint64_t size) {
  const Network::Key key = keyOf(message);
  receiving[key] = {bytes, size};
  program.postReceive(key, size);
  return Status::ok();
}

Status VirtualTransport::wait(const Message &message) {
  const Network::Key key = keyOf(message);
  if (!program.wait(key, message.isSent))
    return Status(ErrorCode::PeerLost, message.describe(),
                  "no program sends or receives it, or not of this size",
                  "this is of the program that ended first, or else a bug");
  if (message.isSent)
    return Status::ok();
  const auto place = receiving.find(key);
  if (const auto said = payloads.find(key); said != payloads.end()) {
    memcpy(place->second.bytes, said->second.data(),
           std::min<uint64_t>(said->second.size(), place->second.size));
    payloads.erase(said);
  }
  receiving.erase(place);
  return Status::ok();
}

void VirtualTransport::cancel(const Message &message) {
  receiving.erase(keyOf(message));
}

} // namespace hone::simulate
