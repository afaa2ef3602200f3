//===- AdapterInsertion.cpp - LoRA on the linear modules of a model -------===//
//
// Blocks are cloned while they are still without adapters: which modules get
// one is decided for all calls first.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/AdapterInsertion.h"
#include "compiler/spec/Suggestion.h"
#include "dialects/Hone/HoneOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <set>

using namespace hone;
using namespace mlir;
using rt::ErrorCode;
using rt::Result;
using rt::Status;

static bool isAllLinear(const Spec &spec) {
  return spec.lora.target_modules == std::vector<std::string>{"all-linear"};
}

static bool names(StringRef target, StringRef path) {
  return path == target || path.ends_with(("." + target).str());
}

/// "self_attn.q_proj", relative to the layer.
static StringRef moduleOf(LinearOp op) {
  StringRef name = op.getWeight().getDefiningOp<ParameterOp>().getName();
  name.consume_back(".weight");
  return name;
}

static StringRef lastWord(StringRef path) {
  return path.substr(path.rfind('.') + 1);
}

/// The words that name a linear module in every layer, in the order in which
/// it runs them.
static std::vector<std::string> linearWords(ModuleOp module) {
  llvm::SetVector<StringRef> words;
  module.walk([&](LinearOp op) { words.insert(lastWord(moduleOf(op))); });
  return {words.begin(), words.end()};
}

static Status refuse(const Spec &spec, const std::string &target,
                     ModuleOp module) {
  bool isNorm = false, isFrozen = false;
  module.walk([&](Operation *op) {
    auto location = dyn_cast<NameLoc>(op->getLoc());
    if (!location || !names(target, location.getName()))
      return;
    isNorm |= isa<RmsNormOp, LayerNormOp>(op);
    isFrozen |= isa<EmbeddingOp, PositionEmbeddingOp, LinearCrossEntropyOp>(op);
  });
  std::vector<std::string> words = linearWords(module);
  return Status::error(
      ErrorCode::NoSuchModule,
      {spec.placeOf("lora.target_modules"),
       isFrozen ? "'" + target +
                      "' cannot have an adapter: embedding and head are frozen"
       : isNorm ? "'" + target + "' is a norm, not a linear module"
                : "no linear module of the model is named '" + target + "'",
       isFrozen || isNorm ? "choose from: " + llvm::join(words, ", ")
                          : suggest(target, words)});
}

/// Gives `op` an adapter of its own.
static void adapt(LinearOp op, const Spec &spec) {
  OpBuilder builder(op);
  auto adapter = [&](const char *suffix, ArrayRef<int64_t> shape, Init init) {
    auto weight = cast<RankedTensorType>(op.getWeight().getType());
    StringAttr name = builder.getStringAttr(moduleOf(op) + suffix);
    return ParameterOp::create(builder, NameLoc::get(name), weight.clone(shape),
                               name, /*trainable=*/true,
                               InitAttr::get(op.getContext(), init),
                               StorageAttr(), /*transposed=*/false);
  };
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getWeight().getType()).getShape();
  Value a =
      adapter(".lora_A.weight", {spec.lora.r, shape[1]}, Init::KaimingUniform);
  Value b = adapter(".lora_B.weight", {shape[0], spec.lora.r}, Init::Zero);
  auto adapted =
      LoraLinearOp::create(builder, op.getLoc(), op.getType(), /*h=*/Type(),
                           op.getX(), op.getWeight(), a, b, op.getBias(),
                           builder.getF64FloatAttr(spec.loraScale()));
  op.replaceAllUsesWith(adapted.getY());
  op.erase();
}

/// Which linear ops of `block` get an adapter where `prefix` runs it; targets
/// that name one leave `unused`.
static std::vector<bool> adaptedIn(BlockOp block, StringRef prefix,
                                   const Spec &spec,
                                   std::set<std::string> &unused) {
  std::vector<bool> adapted;
  for (LinearOp op : block.getBody().getOps<LinearOp>()) {
    std::string path = (prefix + moduleOf(op)).str();
    bool isTarget = isAllLinear(spec);
    for (const std::string &target : spec.lora.target_modules)
      if (names(target, path)) {
        isTarget = true;
        unused.erase(target);
      }
    adapted.push_back(isTarget);
  }
  return adapted;
}

Result<rt::LoraSettings> hone::insertAdapters(ModuleOp module,
                                              const Spec &spec) {
  rt::LoraSettings lora = spec.lora;
  if (isAllLinear(spec))
    lora.target_modules = linearWords(module);
  llvm::sort(lora.target_modules);

  struct Kind {
    BlockOp block;
    std::vector<bool> adapted;
  };
  llvm::MapVector<StringAttr, std::vector<Kind>> kindsOf; // of a block
  std::set<std::string> unused(lora.target_modules.begin(),
                               lora.target_modules.end());
  SymbolTable symbols(module);
  module.walk([&](CallOp call) {
    StringAttr name = call.getBlockAttr().getAttr();
    auto block = symbols.lookup<BlockOp>(name);
    std::vector<bool> adapted =
        adaptedIn(block, call.getPrefix(), spec, unused);
    std::vector<Kind> &kinds = kindsOf[name];
    auto kind = llvm::find_if(
        kinds, [&](const Kind &known) { return known.adapted == adapted; });
    if (kind == kinds.end()) {
      if (!kinds.empty()) {
        block = block.clone();
        block.setSymName(
            (name.strref() + "_" + llvm::Twine(kinds.size() + 1)).str());
        symbols.insert(block, ++kinds.back().block->getIterator());
      }
      kind = kinds.insert(kinds.end(), {block, adapted});
    }
    call.setBlock(kind->block.getSymName());
  });
  if (!isAllLinear(spec) && !unused.empty())
    return refuse(spec, *unused.begin(), module);

  for (auto &[name, kinds] : kindsOf)
    for (Kind &kind : kinds) {
      auto linears = llvm::to_vector(kind.block.getBody().getOps<LinearOp>());
      for (auto [op, isTarget] : llvm::zip_equal(linears, kind.adapted))
        if (isTarget)
          adapt(op, spec);
    }
  return lora;
}
