//===- WeightDigests.cpp - Whether weights are those that were compiled ---===//
//
// A part is let go as soon as it was hashed: verifying costs time, shown in the
// run's header, and no memory.
//
//===----------------------------------------------------------------------===//

#include "module/WeightDigests.h"

#include "base/Sha256.h"
#include "device/Streaming.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

static constexpr uint64_t PartBytes = HONE_DIGEST_PART_BYTES;
static constexpr uint64_t DigestBytes = sizeof(Sha256::Digest);

std::string digestParts(std::string_view file, Pool &pool) {
  struct Job {
    std::string_view file;
    Streaming streaming;
    std::string digests;
  } job{file,
        {file, pool.threads()},
        std::string((file.size() + PartBytes - 1) / PartBytes * DigestBytes,
                    '\0')};
  auto hashPart = [](void *closure, int64_t index, int64_t thread) {
    Job &job = *static_cast<Job *>(closure);
    std::string_view part =
        job.file.substr(uint64_t(index) * PartBytes, PartBytes);
    Sha256 hash;
    hash.update(part);
    Sha256::Digest digest = hash.finish();
    memcpy(&job.digests[uint64_t(index) * DigestBytes], digest.data(),
           DigestBytes);
    job.streaming.release(thread, part.data(), int64_t(part.size()));
  };
  pool.run(hashPart, &job, int64_t(job.digests.size() / DigestBytes));
  job.streaming.releaseWaiting();
  return std::move(job.digests);
}

/// The tensor that has the byte at `offset` or a later one of the same part.
static std::string tensorAt(const SafetensorsFile &file, uint64_t offset,
                            uint64_t end) {
  for (const TensorInfo &tensor : file.tensors()) {
    uint64_t begin = uint64_t(file.data(tensor) - file.bytes().data());
    if (tensor.bytes() > 0 && begin < end && begin + tensor.bytes() > offset)
      return ", in tensor " + tensor.name + " or near it";
  }
  return "";
}

Status verifyWeights(const SafetensorsFile &file, const hone_module &module,
                     Pool &pool) {
  const uint64_t size = file.bytes().size();
  const char *remedy = "copy the file again from where it was compiled, or "
                       "compile again; --no-verify trains with it as it is";
  if (size != module.weight_file_bytes)
    return Status(ErrorCode::DamagedWeights, file.path(),
                  "expected the " + std::to_string(module.weight_file_bytes) +
                      " bytes that honec wrote, found " + std::to_string(size),
                  remedy);
  const std::string found = digestParts(file.bytes(), pool);
  const auto *expected = reinterpret_cast<const char *>(module.weight_digests);
  const auto wrong = std::mismatch(found.begin(), found.end(), expected).first;
  if (wrong == found.end())
    return Status::ok();
  const uint64_t begin =
      uint64_t(wrong - found.begin()) / DigestBytes * PartBytes;
  const uint64_t end = std::min(begin + PartBytes, size);
  return Status(ErrorCode::DamagedWeights,
                file.path() + ": bytes " + std::to_string(begin) + " to " +
                    std::to_string(end - 1) + tensorAt(file, begin, end),
                "expected the bytes that honec wrote, found others", remedy);
}

} // namespace hone::rt
