//===- AdapterInsertion.cpp - Adapters and trained parameters of a model --===//
//
// Blocks are cloned while they are still without adapters: which modules get
// one, and which parameters train themselves, is decided for all calls first.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/AdapterInsertion.h"
#include "compiler/import/AdapterShapes.h"
#include "compiler/spec/Suggestion.h"
#include "dialects/Hone/HoneOps.h"
#include "passes/module/Layers.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <set>

using namespace hone;
using namespace mlir;

static bool isAllLinear(const Spec &spec) {
  return spec.lora.target_modules == std::vector<std::string>{"all-linear"};
}

static bool names(StringRef target, StringRef path) {
  return path == target || path.ends_with(("." + target).str());
}

static StringRef lastWord(StringRef path) {
  return path.substr(path.rfind('.') + 1);
}

/// The words that name a linear module in every layer, in the order in which
/// it runs them.
static std::vector<std::string> linearWords(ModuleOp module) {
  llvm::SetVector<StringRef> words;
  module.walk(
      [&](LinearOp op) { words.insert(lastWord(moduleOf(op.getWeight()))); });
  return {words.begin(), words.end()};
}

static void train(ParameterOp op) {
  op.setTrainable(true);
  op.setInitAttr(InitAttr::get(op.getContext(), Init::Pretrained));
}

static Status refuse(const Spec &spec, const std::string &target,
                     ModuleOp module) {
  bool isNorm = false, isTable = false;
  module.walk([&](Operation *op) {
    auto location = dyn_cast<NameLoc>(op->getLoc());
    if (!location || isa<LinearOp>(op) || !names(target, location.getName()))
      return;
    for (Value operand : op->getOperands())
      if (auto parameter = operand.getDefiningOp<ParameterOp>())
        (parameter.getType().getRank() == 1 ? isNorm : isTable) = true;
  });
  std::vector<std::string> words = linearWords(module);
  return Status(
      ErrorCode::NoSuchModule, spec.placeOf("lora.target_modules"),
      isTable  ? "'" + target +
                     "' cannot have an adapter: embedding and head are frozen, "
                     "or in lora.modules_to_save"
      : isNorm ? "'" + target + "' is a norm, not a linear module"
               : "no linear module of the model is named '" + target + "'",
      isTable || isNorm ? "choose from: " + llvm::join(words, ", ")
                        : suggest(target, words));
}

/// For an entry of lora.modules_to_save that names nothing.
static Status refuseSaved(const Spec &spec, const std::string &target,
                          ModuleOp module) {
  std::set<std::string> words;
  module.walk([&](ParameterOp op) {
    words.insert(lastWord(moduleOf(op.getName())).str());
  });
  return Status(ErrorCode::NoSuchModule, spec.placeOf("lora.modules_to_save"),
                "no module of the model with parameters of its own is named '" +
                    target + "'",
                suggest(target, {words.begin(), words.end()}));
}

/// Gives `op` an adapter of its own; with DoRA, one with magnitudes.
static void adapt(LinearOp op, const AdapterShape &own, bool isDora) {
  OpBuilder builder(op);
  auto adapter = [&](const char *suffix, ArrayRef<int64_t> shape, Init init) {
    auto weight = cast<RankedTensorType>(op.getWeight().getType());
    StringAttr name = builder.getStringAttr(moduleOf(op.getWeight()) + suffix);
    return ParameterOp::create(builder, NameLoc::get(name), weight.clone(shape),
                               name, /*trainable=*/true,
                               InitAttr::get(op.getContext(), init),
                               StorageAttr(), /*transposed=*/false);
  };
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getWeight().getType()).getShape();
  Value a =
      adapter(".lora_A.weight", {own.rank, shape[1]}, Init::KaimingUniform);
  Value b = adapter(".lora_B.weight", {shape[0], own.rank}, Init::Zero);
  auto scale = builder.getF64FloatAttr(own.scale);
  Value lengths, magnitude;
  if (isDora) {
    magnitude = adapter(".lora_magnitude_vector", shape[0], Init::RowLengths);
    lengths = RowLengthsOp::create(builder, op.getLoc(), magnitude.getType(),
                                   op.getWeight(), a, b, scale);
  }
  Value y =
      LoraLinearOp::create(builder, op.getLoc(), op.getType(),
                           /*h=*/Type(), op.getX(), op.getWeight(), a, b,
                           isDora ? Value() : op.getBias(), /*key=*/Value(),
                           scale, /*dropout=*/FloatAttr(),
                           /*of=*/StringAttr())
          .getY();
  if (isDora)
    y = RescaleOp::create(builder, op.getLoc(), op.getType(), y, magnitude,
                          lengths, op.getBias());
  op.replaceAllUsesWith(y);
  op.erase();
}

namespace {
/// The trained parts of a block, where a layer runs it.
struct Trained {
  std::vector<AdapterShape> adapters; ///< of its linear ops, in order
  std::vector<bool> itself;           ///< of its parameters, in order

  bool operator==(const Trained &other) const {
    return adapters == other.adapters && itself == other.itself;
  }
};

/// Decides that for each call, and notes which entries of the spec name
/// something.
class TrainingChoice {
public:
  TrainingChoice(const Spec &spec, const rt::LoraSettings &lora, Layers layers)
      : spec(spec), numbers(std::move(layers)), shapes(spec, numbers.count()),
        unused(lora.target_modules.begin(), lora.target_modules.end()),
        unusedSaved(lora.modules_to_save.begin(), lora.modules_to_save.end()) {}

  Trained choose(BlockOp block, StringRef prefix);
  /// Errors: an entry that names nothing, a module with two ways to train.
  Status check(ModuleOp module) const;
  /// Of layers_to_transform.
  std::vector<int64_t> layers() const { return shapes.layers(); }

private:
  bool isTarget(const std::string &path);
  bool isSaved(const std::string &path);

  const Spec &spec;
  Layers numbers;
  AdapterShapes shapes;
  std::set<std::string> unused, unusedSaved;
  std::string both; ///< a module that has an adapter and is saved
};
} // namespace

bool TrainingChoice::isTarget(const std::string &path) {
  bool found = isAllLinear(spec);
  for (const std::string &target : spec.lora.target_modules)
    if (names(target, path)) {
      found = true;
      unused.erase(target);
    }
  return found;
}

bool TrainingChoice::isSaved(const std::string &path) {
  bool found = false;
  for (const std::string &saved : spec.lora.modules_to_save)
    if (names(saved, path)) {
      found = true;
      unusedSaved.erase(saved);
    }
  return found;
}

Trained TrainingChoice::choose(BlockOp block, StringRef prefix) {
  Trained trained;
  std::set<std::string> withAdapter;
  const std::optional<int64_t> layer = numbers.numberOf(prefix);
  for (LinearOp op : block.getBody().getOps<LinearOp>()) {
    std::string path = (prefix + moduleOf(op.getWeight())).str();
    trained.adapters.push_back(isTarget(path) ? shapes.shapeOf(path, layer)
                                              : AdapterShape());
    if (trained.adapters.back().rank)
      withAdapter.insert(path);
  }
  for (ParameterOp op : block.getBody().getOps<ParameterOp>()) {
    std::string path = (prefix + moduleOf(op.getName())).str();
    bool saved = isSaved(path);
    bool hasAdapter = withAdapter.count(path) > 0;
    if (saved && hasAdapter)
      both = path;
    bool isBias = op.getName().ends_with(".bias");
    trained.itself.push_back(
        saved || (isBias && (spec.lora.bias == "all" ||
                             (spec.lora.bias == "lora_only" && hasAdapter))));
  }
  return trained;
}

Status TrainingChoice::check(ModuleOp module) const {
  if (!isAllLinear(spec) && !unused.empty())
    return refuse(spec, *unused.begin(), module);
  if (!unusedSaved.empty())
    return refuseSaved(spec, *unusedSaved.begin(), module);
  if (!both.empty())
    return Status(ErrorCode::KeysDisagree, spec.placeOf("lora.modules_to_save"),
                  "expected modules without an adapter, but '" + both +
                      "' is one of lora.target_modules, too",
                  "leave it out of one of the two; in place of "
                  "all-linear, list the modules that get an adapter");
  return shapes.check();
}

void hone::untieTrained(ModuleOp module, const HuggingFaceModel &model,
                        const Spec &spec) {
  auto isSaved = [&](StringRef path) {
    return llvm::any_of(
        spec.lora.modules_to_save,
        [&](const std::string &saved) { return names(saved, path); });
  };
  if (!model.tiesEmbeddings || !(spec.weights.untie || isSaved(headModule) ||
                                 isSaved(model.embeddingModule)))
    return;
  module.walk([&](LinearCrossEntropyOp op) {
    auto weight = op.getWeight().getDefiningOp<ParameterOp>();
    weight.setName(headWeight);
    weight->setLoc(NameLoc::get(weight.getNameAttr()));
  });
}

Result<rt::LoraSettings> hone::chooseTrained(ModuleOp module,
                                             const Spec &spec) {
  rt::LoraSettings lora = spec.lora;
  if (lora.none) {
    lora.target_modules.clear();
    module.walk(train);
    return lora;
  }
  if (isAllLinear(spec))
    lora.target_modules = linearWords(module);
  llvm::sort(lora.target_modules);
  llvm::sort(lora.modules_to_save);

  struct Kind {
    BlockOp block;
    Trained trained;
  };
  llvm::MapVector<StringAttr, std::vector<Kind>> kindsOf; // of a block
  TrainingChoice choice(spec, lora, Layers::of(module));
  SymbolTable symbols(module);
  module.walk([&](CallOp call) {
    StringAttr name = call.getBlockAttr().getAttr();
    auto block = symbols.lookup<BlockOp>(name);
    Trained trained = choice.choose(block, call.getPrefix());
    std::vector<Kind> &kinds = kindsOf[name];
    auto kind = llvm::find_if(
        kinds, [&](const Kind &known) { return known.trained == trained; });
    if (kind == kinds.end()) {
      if (!kinds.empty()) {
        block = block.clone();
        block.setSymName(
            (name.strref() + "_" + llvm::Twine(kinds.size() + 1)).str());
        symbols.insert(block, ++kinds.back().block->getIterator());
      }
      kind = kinds.insert(kinds.end(), {block, trained});
    }
    call.setBlock(kind->block.getSymName());
  });
  HONE_TRY(choice.check(module));
  lora.layers_to_transform.clear();
  for (int64_t layer : choice.layers())
    lora.layers_to_transform.push_back(std::to_string(layer));

  for (auto &[name, kinds] : kindsOf)
    for (Kind &kind : kinds) {
      auto parameters =
          llvm::to_vector(kind.block.getBody().getOps<ParameterOp>());
      for (auto [op, trains] : llvm::zip_equal(parameters, kind.trained.itself))
        if (trains)
          train(op);
      auto linears = llvm::to_vector(kind.block.getBody().getOps<LinearOp>());
      for (auto [op, own] : llvm::zip_equal(linears, kind.trained.adapters))
        if (own.rank)
          adapt(op, own, lora.use_dora);
    }
  return lora;
}
