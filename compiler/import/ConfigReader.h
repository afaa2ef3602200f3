//===- ConfigReader.h - The keys of a Hugging Face config.json ------------===//
//
// Strict on purpose: a key that Hone does not know may change the model's
// results, so it is an error. The first error stays; its caller goes on with
// values that harm nothing and asks for the status at the end.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Json.h"
#include "base/Status.h"
#include "compiler/import/Quantization.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone {

/// Every error is BadData with "config.json:line:column /key".
class ConfigReader {
public:
  /// `place` names the file in messages.
  ConfigReader(const rt::Json &root, const std::string &place)
      : root(root), place(place) {}

  /// The value, or null when absent or null in the file; the key is known now.
  const rt::Json *take(llvm::StringRef key);
  /// Whether the file has the key, if only as null.
  bool has(llvm::StringRef key) const { return root.find(key); }

  /// An integer from 1 to 2^31 - 1; 1 after an error. Without `fallback` the
  /// key is required, here and below.
  int64_t size(llvm::StringRef key, std::optional<int64_t> fallback = {});
  /// A positive number that is a normal float32, in which models compute; 1
  /// after an error.
  double positive(llvm::StringRef key, std::optional<double> fallback = {});
  /// The same of a member of `object`, which is at `pointer`.
  double positiveIn(const rt::Json &object, const std::string &pointer,
                    llvm::StringRef key);
  bool flag(llvm::StringRef key, bool fallback = false);

  /// Of `key`, or of `other`, the name that Transformers gives the same in all
  /// families; both must agree. Without `fallback` one is required.
  int64_t sizeOf(llvm::StringRef key, llvm::StringRef other,
                 std::optional<int64_t> fallback = {});
  /// Probabilities of dropout, which Transformers applies in training alone.
  /// Hone trains without: one that is not zero is noted.
  void takeDropout(llvm::ArrayRef<llvm::StringRef> keys);
  /// Notes for the user on a config.json that is accepted.
  const std::vector<std::string> &notes() const { return noteList; }

  /// The quantization that MLX wrote of the weights, if any.
  std::optional<Quantization> quantization();
  /// Settings that no family may change: one element type, no code of the
  /// model's own.
  void checkCommonKeys();
  /// Refuses keys that were not taken, unless they never change numerics, or
  /// change nothing with the values that they have.
  void refuseUnknownKeys(llvm::StringRef modelType);

  /// Keeps the error if it is the first.
  void fail(ErrorCode code, const rt::Json &at, const std::string &pointer,
            const std::string &problem, const std::string &remedy);
  /// The same, about the value of `key`, or the whole file if it is absent.
  void failAt(ErrorCode code, llvm::StringRef key, const std::string &problem,
              const std::string &remedy);
  bool failed() const { return !firstError.isOk(); }
  const Status &status() const { return firstError; }

private:
  void note(Status status);

  const rt::Json &root;
  std::string place;
  llvm::StringSet<> taken;
  Status firstError = Status::ok();
  std::vector<std::string> noteList;
};

/// tie_word_embeddings, in a model whose family has `fallback`.
bool readTiesEmbeddings(ConfigReader &config, bool fallback);

/// `"silu"`, `8`, `true`, or the kind of value: as messages cite it.
std::string describeValue(const rt::Json &value);

/// The remedy for a configuration that cannot be of any model.
extern const char *const takeFromTheSamePlace;

} // namespace hone
