//===- VirtualTransport.h - Messages of a program in virtual time ---------===//
//
// Small messages, such as numbers, do arrive, since items depend on them.
// Of hidden states and gradients only the time does.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/simulate/Programs.h"
#include "step/Transport.h"

#include <map>
#include <string>
#include <vector>

namespace hone::simulate {

/// The contents of small messages on their way.
using Payloads = std::map<Network::Key, std::string>;

class VirtualTransport final : public rt::Transport {
public:
  /// `names` are the programs', by number.
  VirtualTransport(Program &program, const std::vector<std::string> &names,
                   Payloads &payloads)
      : program(program), names(names), payloads(payloads) {}

  Status postSend(const Message &message, const char *bytes,
                  uint64_t size) override;
  Status postReceive(const Message &message, char *bytes,
                     uint64_t size) override;
  Status wait(const Message &message) override;
  void cancel(const Message &message) override;

private:
  Network::Key keyOf(const Message &message) const;

  Program &program;
  const std::vector<std::string> &names;
  Payloads &payloads;
  struct Place {
    char *bytes;
    uint64_t size;
  };
  std::map<Network::Key, Place> receiving;
};

} // namespace hone::simulate
