//===- Text.cpp - The functions of hone.h that know a tokenizer -----------===//

#include "api/ModelSession.h"
#include "text/Tokenizer.h"

#include <cstring>

using namespace hone::rt;

namespace {
/// Counts all ids, keeps those that have room.
class Kept final : public TokenSink {
public:
  Kept(int32_t *ids, uint64_t capacity) : ids(ids), capacity(capacity) {}
  bool append(const int32_t *from, size_t size) override {
    for (size_t i = 0; i < size; ++i, ++count)
      if (count < capacity)
        ids[count] = from[i];
    return true;
  }

  int32_t *ids;
  const uint64_t capacity;
  uint64_t count = 0;
};
} // namespace

/// The error of an array that `function` got as NULL with a size.
static Status missing(const char *function) {
  return Status(ErrorCode::MissingOption, function,
                "expects a text and ids but got NULL",
                "give both, or a size of 0 for a missing one");
}

static Result<Tokenizer> tokenizerOf(const ModelSession &session) {
  const SafetensorsFile &file = session.weightsFile();
  const TensorInfo *table = file.find("hone.tokenizer");
  if (!table)
    return Status(ErrorCode::NoTokenizer, file.path(),
                  "the model was compiled without a tokenizer",
                  "compile from a folder with tokenizer.json");
  return Tokenizer::fromTable({file.data(*table), table->bytes()},
                              file.path() + ": tensor 'hone.tokenizer'");
}

template <typename Function>
static hone_result withTokenizer(hone_session *given, Function use) {
  if (!given)
    return HONE_WRONG_CALL;
  ModelSession &session = *reinterpret_cast<ModelSession *>(given);
  const ModelSession::Use inUse(session);
  if (!inUse)
    return HONE_BUSY;
  const Result<Tokenizer> tokenizer = tokenizerOf(session);
  return session.log.tell(tokenizer.isOk() ? use(session, tokenizer.value())
                                           : tokenizer.status());
}

extern "C" {

hone_result hone_tokenize(hone_session *given, const char *text, uint64_t bytes,
                          int32_t *ids, uint64_t capacity, uint64_t *count) {
  return withTokenizer(
      given, [&](const ModelSession &, const Tokenizer &tokenizer) {
        if ((bytes && !text) || (capacity && !ids))
          return missing("hone_tokenize");
        Kept kept(ids, capacity);
        TokenizerScratch scratch;
        const Status status =
            tokenizer.encode({text, bytes}, "text", kept, scratch);
        if (count)
          *count = kept.count;
        return status;
      });
}

hone_result hone_detokenize(hone_session *given, const int32_t *ids,
                            uint64_t count, char *text, uint64_t capacity,
                            uint64_t *bytes) {
  return withTokenizer(
      given, [&](const ModelSession &session, const Tokenizer &tokenizer) {
        if ((count && !ids) || (capacity && !text))
          return missing("hone_detokenize");
        HONE_TRY(session.checkIds("hone_detokenize", ids, count));
        const std::string all = tokenizer.decode(ids, count);
        if (const uint64_t some = std::min<uint64_t>(capacity, all.size()))
          std::memcpy(text, all.data(), some);
        if (bytes)
          *bytes = all.size();
        return Status::ok();
      });
}

} // extern "C"
