//===- Sha256.h - Streaming SHA-256 (FIPS 180-4) --------------------------===//
//
// Identifies files: weights, data, checkpoints. It detects accidents and
// names content; nothing here is a signature.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hone::rt {

class Sha256 {
public:
  using Digest = std::array<uint8_t, 32>;

  /// Plain is for the test that both codes agree.
  enum class Code { Fastest, Plain };
  explicit Sha256(Code code = Code::Fastest) : code(code) {}

  void update(const void *bytes, uint64_t size);
  void update(std::string_view text) { update(text.data(), text.size()); }

  /// Ends the message. The object then starts a new, empty message.
  Digest finish();

  /// finish() as 64 lower-case hex digits.
  std::string finishHex();

  /// The digest of one buffer, in hex.
  static std::string hex(std::string_view text);

private:
  static void blocks(uint32_t *state, const uint8_t *bytes, uint64_t count,
                     Code code);

  Code code;
  std::array<uint32_t, 8> state = InitialState;
  std::array<uint8_t, 64> pending{};
  uint64_t length = 0; // bytes of message so far

  static constexpr std::array<uint32_t, 8> InitialState = {
      0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
};

} // namespace hone::rt
