//===- Philox.h - Random numbers without hidden state ---------------------===//
//
// Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3",
// SC'11). A number is a pure function of (seed, step, purpose, name, index),
// so resuming needs no generator state and threads cannot change the result.
// The bits are specified: no libm, no contraction of a * b + c.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hone::rt {

/// The Philox4x32-10 block function of Random123.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                   std::array<uint32_t, 2> key);

/// The purpose of random numbers; streams of different purpose never meet.
/// The values are part of the specified bits: append, never renumber.
enum class RandomPurpose : uint32_t {
  Initialize = 1, ///< starting values of a parameter
  Shuffle = 2,    ///< order of the samples in an epoch
  Dropout = 3,    ///< masks
  Perturb = 4,    ///< directions of zeroth-order and forward-gradient methods
  Test = 5,       ///< inputs of tests
  Round = 6,      ///< of parameters to bfloat16
  Select = 7,     ///< which layers train in a step
  Draw = 8,       ///< which samples of a file a run trains and evaluates on
  Sample = 9,     ///< tokens of a text that is generated
  Noise = 10,     ///< on embeddings
};

/// FNV-1a, 64 bits: offset basis 0xcbf29ce484222325, prime 0x100000001b3.
uint64_t hashName(std::string_view name);

/// The part of a stream's key that purpose and name give: h below.
uint64_t hashStream(RandomPurpose purpose, std::string_view name);

/// All numbers of one (seed, step, probe, purpose, name); steps are below 2^53
/// and probes, which count the directions of a step or its batches, are taken
/// modulo 2^11. Copyable, stateless.
///
/// Specified as, with lo/hi the 32-bit halves of a 64-bit word:
///   h     = hashName(the 4 little-endian bytes of purpose, then name)
///   s     = philox4x32({lo step, hi step | probe << 21, lo h, hi h},
///                      {lo ~seed, hi ~seed})
///   id    = s[0] | s[1] << 32
///   block = philox4x32({lo index, hi index, lo id, hi id},
///                      {lo seed, hi seed})
///   bits  = block[0] << 32 | block[1]
class RandomStream {
public:
  static constexpr int probeShift = 21;
  /// Seed, step and probe as compiled code has them: seed, then
  /// step | probe << 53, each as its low and high half.
  static constexpr int keyWords = 4;
  using Key = std::array<uint32_t, keyWords>;
  static Key keyOf(uint64_t seed, uint64_t step, uint64_t probe);

  RandomStream(uint64_t seed, uint64_t step, RandomPurpose purpose,
               std::string_view name, uint32_t probe = 0);

  /// 64 uniform bits.
  uint64_t bits(uint64_t index) const;

  /// (bits >> 11) * 2^-53, in [0, 1).
  double uniform(uint64_t index) const;

  /// (bits >> 40) * 2^-24, in [0, 1): uniform() rounded towards zero.
  float uniformF32(uint64_t index) const;

  /// Standard normal: inverseNormal(((bits >> 12) + 0.5) * 2^-52).
  double normal(uint64_t index) const;

  /// 32 uniform bits of an element of a matrix with `columns` columns. These
  /// fall into groups of 64, and group g of row r has the 16 blocks from
  /// (r * groups + g) * 16 on: column 64 g + 16 w + v is word w of block v. So
  /// no word of a block is lost, and neighbours have neighbouring blocks.
  uint32_t word(uint64_t row, uint64_t column, uint64_t columns) const;

  /// The 64 bits that name this stream; a key for permuteIndex.
  uint64_t id() const { return stream; }

private:
  std::array<uint32_t, 4> block(uint64_t index) const;

  uint64_t seed;
  uint64_t stream;
};

/// The quantile function of the standard normal, 0 < p < 1: algorithm AS 241
/// PPND16 (Wichura, Applied Statistics 37, 1988), relative error about 1e-15,
/// with portableLog in the tails.
double inverseNormal(double p);

/// A bijection on [0, count), count <= 2^63: where `index` goes under the
/// permutation that `key` selects. An 8-round Feistel network with Philox as
/// the round function, walked until the result is below count (fewer than 4
/// rounds of it on average). Shuffles without a table: keep only `key`.
uint64_t permuteIndex(uint64_t index, uint64_t count, uint64_t key);

} // namespace hone::rt
