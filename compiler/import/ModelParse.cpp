//===- ModelParse.cpp - A hand-written .mlir model ------------------------===//
//
// The file has everything an import would build: blocks, the entry @loss and
// parameters with their adapters. So the spec's `lora` can at most repeat the
// file's settings, and is checked where the user wrote it.
//
//===----------------------------------------------------------------------===//

#include "base/MappedFile.h"
#include "compiler/import/ModelImport.h"
#include "dialects/Hone/Sizes.h"
#include "passes/module/Layers.h"
#include "passes/module/Schedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"

#include <cmath>

using namespace hone;
using namespace mlir;

static Status disagrees(const Spec &spec, const std::string &key,
                        const std::string &expected, const std::string &found) {
  return Status(ErrorCode::SpecDisagreesWithModel, spec.placeOf(key),
                "expected " + expected + ", as in " + spec.model +
                    ", but found " + found,
                "an .mlir model has its adapters written out; leave " + key +
                    " out of the spec");
}

template <typename Names> static std::string listed(const Names &names) {
  return "[" + llvm::join(names, ", ") + "]";
}

template <typename OpTy> static bool hasOp(ModuleOp module) {
  return module.walk([](OpTy) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Whether the spec's modules are those with an adapter. all-linear are all if
/// no linear is left without one; the head is an op of its own.
static bool hasModules(const std::vector<std::string> &wanted, ModuleOp module,
                       const std::set<std::string> &adapted) {
  if (wanted != std::vector<std::string>{"all-linear"})
    return std::set<std::string>(wanted.begin(), wanted.end()) == adapted;
  return !hasOp<LinearOp>(module);
}

static std::string nameOf(Type element) {
  return element.isF64()    ? "float64"
         : element.isBF16() ? "bfloat16"
                            : "float32";
}

/// Every parameter must have the element type that the spec computes in, and
/// arguments and results of blocks the spec's own.
static Status checkElementTypes(const Spec &spec, ModuleOp module) {
  Type expected = activationType(spec, module.getContext());
  Status status = Status::ok();
  auto check = [&](Type type, Type expected, const std::string &what) {
    Type element = getElementTypeOrSelf(type);
    if (!isa<FloatType>(element) || element == expected || !status.isOk())
      return;
    status = Status(ErrorCode::SpecDisagreesWithModel,
                    spec.placeOf("train.compute_dtype"),
                    "expected the element type of " + spec.model +
                        " but found " + spec.train.compute_dtype + ", where " +
                        what + " is " + nameOf(element),
                    "set train.compute_dtype to the type in the file");
  };
  module.walk([&](ParameterOp op) {
    check(op.getType(), computeType(expected),
          "parameter " + op.getName().str());
  });
  for (BlockOp block : module.getOps<BlockOp>())
    for (Type type : llvm::concat<const Type>(block.getArgumentTypes(),
                                              block.getResultTypes()))
      if (cast<RankedTensorType>(type).getRank() == 2)
        check(type, expected, "a value of block " + block.getSymName().str());
  return status;
}

/// Whether a parameter of the model itself is trainable.
static bool trainsItself(ModuleOp module) {
  return module
      .walk([](ParameterOp op) {
        return op.getInit() == Init::Pretrained ? WalkResult::interrupt()
                                                : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
/// The adapter that all hone.lora_linear of a file share; rank 0: there are
/// none.
struct WrittenAdapter {
  int64_t rank = 0;
  double scale = 0;
  bool usesDora = false;
  std::set<std::string> targets; ///< the modules that have one
};
} // namespace

/// Only a spec for a Hugging Face model names modules that are exceptions.
static Result<WrittenAdapter> findAdapter(const Spec &spec, ModuleOp module) {
  WrittenAdapter adapter;
  Status status = Status::ok();
  module.walk([&](LoraLinearOp op) {
    int64_t rank = cast<RankedTensorType>(op.getA().getType()).getDimSize(0);
    double scale = op.getScale().convertToDouble();
    if (adapter.rank && (adapter.rank != rank || adapter.scale != scale) &&
        status.isOk())
      status = Status(ErrorCode::BadModule, spec.model,
                      "expected every hone.lora_linear to have rank " +
                          std::to_string(adapter.rank) + " and scale " +
                          std::to_string(adapter.scale) + " but found rank " +
                          std::to_string(rank) + " and scale " +
                          std::to_string(scale),
                      "write one rank and one scale: lora.rank_pattern and "
                      "lora.alpha_pattern are for Hugging Face models");
    adapter.rank = rank;
    adapter.scale = scale;
  });
  HONE_TRY(status);
  module.walk([&](ParameterOp op) {
    StringRef name = moduleOf(op.getName());
    if (op.getTrainable() && op.getName().ends_with(".lora_A.weight"))
      adapter.targets.insert(name.substr(name.rfind('.') + 1).str());
  });
  adapter.usesDora = hasOp<RowLengthsOp>(module);
  return adapter;
}

/// The spec's adapter must be the file's.
static Status checkAdapter(const Spec &spec, ModuleOp module,
                           const WrittenAdapter &adapter) {
  const rt::LoraSettings &lora = spec.lora;
  auto isGiven = [&](const rt::Setting &setting) {
    return spec.given.count(setting.key()) > 0;
  };
  for (const rt::Setting *setting :
       {static_cast<const rt::Setting *>(&lora.rank_pattern),
        static_cast<const rt::Setting *>(&lora.alpha_pattern),
        static_cast<const rt::Setting *>(&lora.layers_to_transform)})
    if (isGiven(*setting))
      return disagrees(spec, setting->key(), "adapters that are written",
                       setting->text());
  if (isGiven(lora.use_dora) && lora.use_dora != adapter.usesDora)
    return disagrees(spec, lora.use_dora.key(),
                     adapter.usesDora ? "true" : "false", lora.use_dora.text());
  if (isGiven(lora.r) && lora.r != adapter.rank)
    return disagrees(spec, lora.r.key(), std::to_string(adapter.rank),
                     std::to_string(lora.r));
  if (isGiven(lora.target_modules) &&
      !hasModules(lora.target_modules, module, adapter.targets))
    return disagrees(spec, lora.target_modules.key(), listed(adapter.targets),
                     listed(lora.target_modules));
  const std::string scale = "a scale of " + std::to_string(adapter.scale);
  if (isGiven(lora.use_rslora) && lora.use_rslora && !isGiven(lora.lora_alpha))
    return disagrees(spec, lora.use_rslora.key(), scale,
                     "use_rslora without lora_alpha");
  // The scale needs r, which may come from the file alone.
  Spec resolved = spec;
  resolved.lora.r = adapter.rank;
  if (isGiven(lora.lora_alpha) &&
      std::abs(resolved.loraScale() - adapter.scale) > 1e-12 * adapter.scale)
    return disagrees(spec, lora.lora_alpha.key(), scale,
                     std::to_string(resolved.loraScale()));
  return Status::ok();
}

/// Sets the file's settings of its adapter, which the spec may repeat.
static Status readAdapter(const Spec &spec, ModuleOp module,
                          rt::LoraSettings &lora) {
  HONE_ASSIGN(const WrittenAdapter adapter, findAdapter(spec, module));
  lora.target_modules.assign(adapter.targets.begin(), adapter.targets.end());
  if (spec.lora.none && adapter.rank)
    return disagrees(spec, spec.lora.none.key(), "adapters", "none");
  lora.none = !adapter.rank && trainsItself(module);
  if (!adapter.rank)
    return Status::ok();
  HONE_TRY(checkAdapter(spec, module, adapter));
  lora.use_dora = adapter.usesDora;
  lora.r = adapter.rank;
  lora.use_rslora = false;
  lora.lora_alpha = adapter.scale * static_cast<double>(adapter.rank);
  return Status::ok();
}

/// Writes the numbers of layers down, in derived modules too. Those of the file
/// are of layers that its loss has.
static Status settleLayers(const Spec &spec, ModuleOp module) {
  const Layers layers = Layers::of(module);
  llvm::StringSet<> called;
  module.walk([&](CallOp call) { called.insert(call.getPrefix()); });
  for (const std::string &prefix : layers.names())
    if (!called.contains(prefix))
      return Status(
          ErrorCode::BadModule, spec.model,
          "expected a hone.call for each prefix of hone.layers, but '" +
              prefix + "' has none",
          "list the prefixes of the layers from the first to the last, or "
          "leave hone.layers out to number them as the loss calls them");
  layers.writeTo(module);
  return Status::ok();
}

Result<ImportedModel> hone::parseModel(MLIRContext &context, const Spec &spec) {
  if (!llvm::sys::fs::exists(spec.model))
    return Status(ErrorCode::NoModel, spec.model, "the model does not exist",
                  "`model:` must name a Hugging Face model directory "
                  "or an .mlir file");
  HONE_TRY(rt::MappedFile::open(spec.model)); // a pipe would be waited for
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(spec.model, ParserConfig(&context));
  if (!module)
    return Status(ErrorCode::BadModule, spec.model,
                  "expected a valid module of hone ops",
                  "the message above has the line and the column");
  if (failed(findLossEntry(*module)))
    return Status(ErrorCode::BadModule, spec.model,
                  "expected one entry that returns the loss",
                  "see dialects/Hone/README.md for an example");

  // Scheduling finds its formulas by their names.
  for (auto function : module->getOps<func::FuncOp>())
    return Status(ErrorCode::BadModule, spec.model,
                  "expected only blocks and entries but found the function @" +
                      function.getName().str(),
                  "see dialects/Hone/README.md for an example");

  int64_t rows = spec.maxRows();
  const std::optional<int64_t> written = mostRows(*module);
  if (written && *written != rows)
    return Status(
        ErrorCode::SpecDisagreesWithModel, spec.placeOf("train.max_seq_length"),
        "expected batch_size x max_seq_length to be hone.max_rows of " +
            spec.model + ", " + std::to_string(*written) + ", but found " +
            std::to_string(rows),
        "change the spec, or leave hone.max_rows out of the file");
  (*module)->setAttr(HoneDialect::getMaxRowsAttrName(),
                     Builder(&context).getI64IntegerAttr(rows));
  (*module)->setAttr(
      HoneDialect::getMaxPositionsAttrName(),
      Builder(&context).getI64IntegerAttr(spec.train.max_seq_length));
  HONE_TRY(settleLayers(spec, *module));
  ImportedModel model{std::move(module), spec.lora};
  Status status = checkElementTypes(spec, *model.module);
  if (status.isOk())
    status = readAdapter(spec, *model.module, model.lora);
  HONE_TRY(status);
  return Result<ImportedModel>(std::move(model));
}
