//===- SettledSpec.cpp - A spec with nothing left open --------------------===//

#include "compiler/driver/SettledSpec.h"

#include "compiler/rules/GenerateRules.h"
#include "compiler/rules/SpecRules.h"
#include "compiler/spec/MachineProfileFile.h"
#include "passes/methods/StepSettings.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace hone;

/// The problem of the target that `spec` wants: its keys are taken one
/// after another, so that the wrong one is known.
static Status targetProblem(const Spec &spec, const TargetRequest &wanted) {
  TargetRequest known;
  std::unique_ptr<Target> target;
  auto take = [&](std::string TargetRequest::*part, const std::string &key,
                  const std::string &remedy) {
    known.*part = wanted.*part;
    auto created = hone::createTarget(known);
    if (!created)
      return Status(ErrorCode::UnknownTarget, spec.placeOf(key),
                    llvm::toString(created.takeError()), remedy);
    target = std::move(*created);
    return Status::ok();
  };
  HONE_TRY(take(&TargetRequest::triple, spec.targetKey(),
                "write target: native, or a triple such as aarch64-linux-gnu "
                "or nvptx64-nvidia-cuda"));
  const bool isProcessor = target->hasHostKernels();
  // A triple may name a CPU, too.
  HONE_TRY(take(&TargetRequest::cpu,
                spec.target.cpu.empty() ? spec.targetKey() : "target.cpu",
                isProcessor
                    ? "leave it out, or name a CPU as clang's -mcpu does; for "
                      "this machine's, write target: native"
                    : "leave it out, or name one of these"));
  HONE_TRY(take(&TargetRequest::features, "target.features",
                "leave it out, or list features with their signs, such as "
                "[+avx512bf16]"));
  const std::string remedy =
      "leave it out, or write native or x86-64-v3 beside the triple of a GPU";
  if (isProcessor)
    return Status(ErrorCode::UnknownTarget, spec.placeOf("target.host"),
                  "only a GPU has a host, and the target is " +
                      target->describe(),
                  remedy);
  return take(&TargetRequest::host, "target.host", remedy);
}

static Result<std::unique_ptr<Target>> createTarget(const Spec &spec) {
  TargetRequest wanted = TargetRequest::parse(spec.target.triple);
  if (!spec.target.cpu.empty())
    wanted.cpu = spec.target.cpu;
  wanted.features = llvm::join(spec.target.features, ",");
  wanted.host = spec.target.host;
  auto created = hone::createTarget(wanted);
  if (created && (wanted.host.empty() || !(*created)->hasHostKernels()))
    return std::move(*created);
  llvm::consumeError(created.takeError());
  return targetProblem(spec, wanted);
}

/// Settles train.bfloat16_products: auto too.
static Result<std::unique_ptr<Target>> settleTarget(Spec &spec) {
  HONE_ASSIGN(std::unique_ptr<Target> target, createTarget(spec));
  bool isBFloat16 = spec.train.compute_dtype == "bfloat16";
  if (isBFloat16 && spec.train.bfloat16_products == "auto")
    spec.train.bfloat16_products =
        target->prefersBFloat16Products() ? "pairs" : "widened";
  if (!spec.roundsProducts() || target->hasBFloat16Products())
    return target;
  const rt::Word &setting = isBFloat16 ? spec.train.bfloat16_products
                                       : spec.train.float32_matmul_precision;
  std::string other = isBFloat16 ? "widened" : "highest";
  return Status(
      ErrorCode::TargetLacksProducts,
      spec.placeOf("train." + std::string(setting.name)),
      setting + " needs bfloat16 dot products (avx512bf16), which the target " +
          target->describe() + " does not have",
      "set " + std::string(setting.name) + ": " + other +
          ", or choose a target that has them, such as target: {triple: "
          "x86-64-v4, features: [+avx512bf16]}");
}

Status hone::checkTarget(Spec spec) { return settleTarget(spec).status(); }

/// Settles the length of a text, and its ends; the rest of the spec becomes
/// that of a model without training.
static Status settleGeneration(SettledSpec &settled) {
  Spec &spec = settled.spec;
  const HuggingFaceModel *model = settled.model.get();
  HONE_ASSIGN(
      spec.generate,
      settleGenerateSettings(spec, model ? model->maxPositionEmbeddings : 0));
  spec.train.compare = "none";
  spec.train.residuals = "mesp"; // which plans nothing
  if (!model) // an .mlir file may say how many rows it is for
    return Status::ok();
  HONE_ASSIGN(settled.stopTokens, readStopTokens(spec.model));
  spec.train.batch_size = 1;
  spec.train.max_seq_length = std::max<int64_t>(spec.generate.max_length, 2);
  return Status::ok();
}

Result<SettledSpec> hone::settleSpec(Spec given, Program program) {
  SettledSpec settled;
  settled.spec = std::move(given);
  Spec &spec = settled.spec;
  if (spec.target.threads == 0)
    spec.target.threads = llvm::hardware_concurrency().compute_thread_count();
  if (program == Program::Train)
    HONE_TRY(checkTrainedWeights(spec));
  HONE_ASSIGN(settled.target, settleTarget(spec));
  settled.costs.rates = settled.target->profile();
  if (!spec.target.profile.empty()) {
    HONE_ASSIGN(settled.costs,
                readProfile(spec.target.profile, settled.costs.rates));
    if (settled.costs.threads > 0 &&
        settled.costs.threads != spec.target.threads)
      llvm::errs() << "note: " << spec.target.profile.text() << ": "
                   << settled.costs.threads
                   << " threads were measured, and the plan is for "
                   << spec.target.threads.text() << "\n";
  }
  if (!spec.isMlir()) {
    HONE_ASSIGN(settled.model, HuggingFaceModel::open(spec.model));
    for (const std::string &note : settled.model->notes)
      llvm::errs() << "note: " << note << "\n";
    if (spec.weights.untie && !settled.model->tiesEmbeddings)
      llvm::errs() << "note: " << spec.placeOf(spec.weights.untie.key())
                   << ": the model's head has a table of its own already\n";
    const std::string &target = settled.model->targetModule;
    if (!target.empty() && !spec.given.count(spec.lora.target_modules.key()))
      spec.lora.target_modules = {target};
    const int64_t positions = settled.model->maxPositionEmbeddings;
    rt::Integer &length = spec.train.max_seq_length;
    if (positions > 1 && length > positions && !spec.given.count(length.key()))
      length = positions;
  }
  if (rt::Word &base = spec.lora.base_model_name_or_path; base.empty())
    base = settled.model && !settled.model->hubName.empty()
               ? settled.model->hubName
               : spec.modelName();
  if (program == Program::Generate)
    HONE_TRY(settleGeneration(settled));
  return std::move(settled);
}

Spec hone::settleModel(Spec spec, rt::LoraSettings lora,
                       rt::WeightSettings weights) {
  spec.lora = std::move(lora);
  spec.weights = std::move(weights);
  return spec;
}

Spec hone::settleParts(Spec spec, int64_t layers) {
  if (!spec.hasParts())
    return spec;
  // A run's identity has them: in one spelling.
  auto write = [](rt::Word &layers, int64_t first, int64_t last) {
    layers = (first < last ? std::to_string(first) + "-" : "") +
             std::to_string(last);
  };
  std::vector<int64_t> ends = cutsOf(spec);
  ends.push_back(layers);
  int64_t first = 0;
  for (auto [part, end] : llvm::zip_equal(spec.parts, ends)) {
    write(part->layers, first, end - 1);
    first = end;
  }
  return spec;
}

Spec hone::settlePlan(Spec spec, std::optional<double> selectionRatio) {
  if (selectionRatio)
    spec.train.selection_ratio = *selectionRatio;
  return spec;
}

Spec hone::settleProgram(Spec spec, const Target &target,
                         std::string rounding) {
  spec.train.kept_dtype = std::move(rounding);
  TargetRequest machine = target.request();
  spec.target.triple = machine.triple;
  spec.target.cpu = machine.cpu;
  spec.target.features = target.features();
  return spec;
}
