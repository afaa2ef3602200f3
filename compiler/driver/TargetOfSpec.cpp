//===- TargetOfSpec.cpp - The target that a spec names --------------------===//

#include "compiler/driver/TargetOfSpec.h"

#include "llvm/ADT/StringExtras.h"

using namespace hone;
using rt::ErrorCode;
using rt::Result;
using rt::Status;

Result<std::unique_ptr<Target>> hone::targetOf(Spec &spec) {
  // One key after another, so that the wrong one is known.
  TargetRequest wanted = TargetRequest::parse(spec.target.triple);
  auto created = hone::createTarget(wanted);
  std::string key = "target.triple";
  std::string remedy =
      "write target: native, or a triple such as aarch64-linux-gnu";
  if (created && !spec.target.cpu.empty()) {
    wanted.cpu = spec.target.cpu;
    created = hone::createTarget(wanted);
    key = "target.cpu";
    remedy = "leave it out, or name a CPU as clang's -mcpu does; for this "
             "machine's, write target: native";
  }
  if (created && !spec.target.features.empty()) {
    wanted.features = llvm::join(spec.target.features, ",");
    created = hone::createTarget(wanted);
    key = "target.features";
    remedy = "leave it out, or list features with their signs, such as "
             "[+avx512bf16]";
  }
  if (!created)
    return Status::error(
        ErrorCode::UnknownTarget,
        {spec.placeOf(key), llvm::toString(created.takeError()), remedy});
  std::unique_ptr<Target> target = std::move(*created);
  bool isBFloat16 = spec.train.compute_dtype == "bfloat16";
  if (isBFloat16 && spec.train.bfloat16_products == "auto")
    spec.train.bfloat16_products =
        target->prefersBFloat16Products() ? "pairs" : "widened";
  if (!spec.roundsProducts() || target->hasBFloat16Products())
    return target;
  const rt::Word &setting = isBFloat16 ? spec.train.bfloat16_products
                                       : spec.train.float32_matmul_precision;
  std::string other = isBFloat16 ? "widened" : "highest";
  return Status::error(
      ErrorCode::TargetLacksProducts,
      {spec.placeOf("train." + std::string(setting.name)),
       setting +
           " needs bfloat16 dot products (avx512bf16), which the target " +
           target->describe() + " does not have",
       "set " + std::string(setting.name) + ": " + other +
           ", or choose a target that has them, such as target: {triple: "
           "x86-64-v4, features: [+avx512bf16]}"});
}
