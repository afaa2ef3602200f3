//===- ModelFiles.cpp - The files of a program's model --------------------===//

#include "program/ModelFiles.h"

#include "base/ByteCount.h"
#include "module/WeightDigests.h"

#include <chrono>
#include <cstdio>

namespace hone::rt {

std::string weightsPath(const std::string &given) {
  return given.empty() ? defaultWeightsPath() : given;
}

Result<ModelFiles> openModelFiles(const Module &module,
                                  const std::string &given) {
  Result<Weights> weights = Weights::open(weightsPath(given), module);
  if (!weights.isOk() && given.empty() &&
      weights.status().errorCode() == ErrorCode::CannotRead) {
    Message message = weights.status().message();
    message.remedy = std::string("keep ") + Weights::fileName +
                     " beside this program, or give --weights FILE";
    return Status(ErrorCode::NoCompiledWeights, message);
  }
  HONE_TRY(weights);
  ModelFiles files;
  files.weights = std::move(weights.value());
  const SafetensorsFile &file = files.weights.file();
  const TensorInfo *table = file.find("hone.tokenizer");
  if (!table)
    return files;
  HONE_ASSIGN(files.tokenizer,
              Tokenizer::fromTable({file.data(*table), table->bytes()},
                                   file.path() + ": tensor 'hone.tokenizer'"));
  if (const TensorInfo *block = file.find("hone.chat"))
    files.chat = {file.data(*block), block->bytes()};
  return files;
}

void ModelFiles::releaseText() const {
  for (const char *name : {"hone.tokenizer", "hone.chat"})
    if (const TensorInfo *table = weights.file().find(name))
      weights.file().release(*table);
}

Status checkWeights(const ModelFiles &files, const Module &module, Pool &pool,
                    bool noVerify, std::string &report) {
  const hone_module &abi = module.abi();
  if (noVerify || abi.weight_file_bytes == 0) {
    report = std::string("verified     no, ") +
             (noVerify ? "because of --no-verify"
                       : "compiled without their digests") +
             ": damaged weights would go unnoticed\n";
    return Status::ok();
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Status status = verifyWeights(files.weights.file(), abi, pool);
  char line[96];
  snprintf(line, sizeof(line), "verified     %.1f MiB of weights in %.2f s\n",
           inMebibytes(abi.weight_file_bytes),
           std::chrono::duration<double>(Clock::now() - start).count());
  report = line;
  return status;
}

} // namespace hone::rt
