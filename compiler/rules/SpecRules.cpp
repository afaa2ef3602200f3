//===- SpecRules.cpp - Rules between the keys of a spec -------------------===//

#include "compiler/rules/SpecRules.h"
#include "base/Utf8.h"
#include "compiler/spec/ModulePattern.h"
#include "passes/methods/StepSettings.h"
#include "passes/parts/LayerRange.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace hone;

/// yaml-cpp takes a NUL for the end of its input and then never gets there.
Status hone::checkSpecText(llvm::StringRef text, const std::string &place) {
  auto fail = [&](const std::string &problem) {
    return Status(ErrorCode::BadSpec, place, problem,
                  "a spec is YAML; see honec --help-spec for one");
  };
  if (text.size() > mostSpecBytes)
    return fail("expected a spec of at most " + std::to_string(mostSpecBytes) +
                " bytes but found more");
  size_t wrong = rt::findInvalidUtf8(text);
  if (wrong == std::string_view::npos)
    wrong = text.find_if([](unsigned char c) {
      return c < 0x20 && c != '\t' && c != '\n' && c != '\r';
    });
  if (wrong == std::string_view::npos)
    return Status::ok();
  return fail("expected UTF-8 text without control characters but found the "
              "byte value " +
              std::to_string(static_cast<unsigned char>(text[wrong])) +
              " at offset " + std::to_string(wrong));
}

static Status fail(const Spec &spec, ErrorCode code, const std::string &key,
                   const std::string &problem, const std::string &remedy) {
  return Status(code, spec.placeOf(key), problem, remedy);
}

static Status disagree(const Spec &spec, const std::string &key,
                       const std::string &problem, const std::string &remedy) {
  return fail(spec, ErrorCode::KeysDisagree, key, problem, remedy);
}

//===----------------------------------------------------------------------===//
// Methods
//===----------------------------------------------------------------------===//

Status hone::checkMethods(
    const Spec &spec,
    llvm::function_ref<LayerCounts(const rt::MethodSettings &)> layers) {
  auto problem = findMethodProblem(
      spec, [&](const std::string &key) { return spec.given.count(key) > 0; },
      layers);
  return problem ? fail(spec, problem->code, problem->setting.key(),
                        problem->problem, problem->remedy)
                 : Status::ok();
}

static void settle(Spec &spec) {
  settleMethods(
      spec, [&](const std::string &key) { return spec.given.count(key) > 0; });
}

/// Adds a part with the other layers above a part that is alone.
static void addPartAbove(Spec &spec) {
  if (spec.parts.size() == 1 && !spec.parts[0].layers.empty() &&
      spec.parts[0].part != "upper")
    spec.parts.add("upper");
}

/// That parts are named as entries of a step and options of a program can be.
static Status checkNames(const Spec &spec) {
  for (const auto &part : spec.parts) {
    const llvm::StringRef name = part->part;
    const bool isName =
        name.size() <= 32 && llvm::isLower(name.front()) &&
        llvm::all_of(name, [](char c) {
          return llvm::isLower(c) || llvm::isDigit(c) || c == '-';
        });
    if (!isName)
      return fail(spec, ErrorCode::BadSpecValue, part->section,
                  "expected a name of at most 32 letters a-z, digits and -, "
                  "with a letter first, but found '" +
                      name.str() + "'",
                  "give the part another name");
  }
  return Status::ok();
}

/// Checks which layers are whose.
static Status checkLayers(const Spec &spec) {
  for (const auto &part : spec.parts)
    if (const rt::Word &layers = part->layers;
        !layers.empty() && !parseLayerRange(layers))
      return fail(spec, ErrorCode::BadSpecValue, layers.key(),
                  "expected a range of layers such as 0-4 but found '" +
                      layers + "'",
                  "layers are counted from 0, and both ends are included");
  const rt::PartSettings *below = nullptr;
  for (const auto &part : spec.parts) {
    const rt::Word &own = part->layers;
    const bool isLast = part.get() == &spec.parts.back();
    if (own.empty() && isLast && below)
      break;
    if (own.empty())
      return fail(spec, ErrorCode::MissingKey, own.key(),
                  "the key is required with parts but missing",
                  "add layers: 0-4 for the first five layers; the last part "
                  "has the others without it");
    const LayerRange range = *parseLayerRange(own);
    const int64_t wanted = below ? parseLayerRange(below->layers)->last + 1 : 0;
    if (!below && range.first != 0)
      return fail(spec, ErrorCode::BadSpecValue, own.key(),
                  "expected layers from 0 on but found '" + own +
                      "', which leaves the layers below without a part",
                  "write 0-" + std::to_string(range.last));
    if (range.first != wanted)
      return fail(spec, ErrorCode::BadSpecValue, own.key(),
                  "expected layers from " + std::to_string(wanted) +
                      " on, after those of " + below->layers.key() +
                      ", but found '" + own + "', which " +
                      (range.first < wanted ? "overlaps with them"
                                            : "leaves layers out"),
                  isLast ? "leave " + own.key() + " out to have all the others"
                         : "write " + std::to_string(wanted) + "-" +
                               std::to_string(std::max(wanted, range.last)));
    below = part.get();
  }
  if (spec.parts.size() > 1)
    return Status::ok();
  return fail(spec, ErrorCode::MissingKey, "parts",
              "expected two parts or more but found only '" +
                  spec.parts[0].part + "'",
              "add one with the layers above, or remove parts");
}

/// A part takes keys that it is not given from train; optimizer and selection
/// are declared before keys that only some of them read.
static Status inheritFromTrain(Spec &spec) {
  for (const rt::Setting *common : spec.train.members()) {
    if (!spec.given.count(common->key()))
      continue;
    bool isCommon = false, isUsed = false;
    for (const auto &part : spec.parts) {
      rt::Setting *own = rt::Settings::find(*part, *common);
      if (!own)
        continue;
      isCommon = true;
      if (spec.given.count(own->key()) || !own->isReadBy(part->method))
        continue;
      own->parse(common->text());
      isUsed |= !findUnread(*part, part->method, *own);
    }
    if (isCommon && !isUsed)
      return disagree(spec, common->key(),
                      "no part reads it: all set it themselves, or their "
                      "methods do not use it",
                      "remove " + common->key());
  }
  return Status::ok();
}

/// Checks where the model is cut into modules.
static Status checkModuleCuts(const Spec &spec) {
  const rt::TrainSettings &train = spec.train;
  if (train.module_cuts.empty())
    return Status::ok();
  int64_t below = 0;
  for (const std::string &cut : train.module_cuts) {
    auto range = parseLayerRange(cut);
    if (!range || range->first != range->last || range->last <= below)
      return fail(spec, ErrorCode::BadSpecValue, train.module_cuts.key(),
                  "expected numbers of layers that rise, such as [6, 14], but "
                  "found '" +
                      cut + "'",
                  "write how many layers are below each cut");
    below = range->last;
  }
  if (int64_t(train.module_cuts.size()) + 1 != train.modules)
    return disagree(spec, train.module_cuts.key(),
                    "expected one cut fewer than modules, which are " +
                        train.modules.text() + ", but found " +
                        std::to_string(train.module_cuts.size()),
                    "leave " + train.module_cuts.key() +
                        " out to have the model cut by estimates");
  return Status::ok();
}

/// Checks the modules of a model, and that they may be asynchronous.
static Status checkModules(const Spec &spec) {
  const rt::TrainSettings &train = spec.train;
  if (spec.hasParts() || spec.compares())
    for (const rt::Setting *setting :
         {static_cast<const rt::Setting *>(&train.modules),
          static_cast<const rt::Setting *>(&train.module_cuts),
          static_cast<const rt::Setting *>(&train.asynchronous)})
      if (spec.given.count(setting->key()))
        return spec.hasParts()
                   ? disagree(spec, setting->key(),
                              "modules have one method, and each part has a "
                              "method of its own",
                              "remove " + setting->key() + ", or parts")
                   : disagree(spec, setting->key(),
                              "gradients are compared in one program, which "
                              "has all layers",
                              "remove " + setting->key() + ", or " +
                                  train.compare.key());
  if (train.asynchronous && !spec.given.count(train.modules.key()))
    return fail(spec, ErrorCode::MissingKey, train.asynchronous.key(),
                "only modules are asynchronous, but there is no " +
                    train.modules.key(),
                "add modules: 2, or more");
  // A late message is taken in before anybody waits for it, so it is small.
  constexpr int64_t most = 64 / sizeof(float);
  if (train.asynchronous && train.modules > 1 && train.directions > most)
    return fail(spec, ErrorCode::BadSpecValue, train.directions.key(),
                "expected at most " + std::to_string(most) +
                    " directions, whose derivatives are one small message "
                    "between asynchronous modules, but found " +
                    train.directions.text(),
                "lower it, or remove " + train.asynchronous.key());
  return checkModuleCuts(spec);
}

/// Checks which parts are programs, and their exchanges.
static Status checkPrograms(const Spec &spec) {
  if (!spec.hasPrograms()) {
    for (const rt::Setting *setting : spec.exchange.members())
      if (spec.given.count(setting->key()))
        return disagree(spec, setting->key(),
                        "only parts that are programs of their own exchange "
                        "anything, but no part has a program",
                        "remove " + setting->key() +
                            ", or give each part a program");
    for (const auto &part : spec.parts)
      if (!part->target.empty())
        return disagree(spec, part->target.key(),
                        "only a part that is a program has a target of its "
                        "own, but no part has a program",
                        "remove " + part->target.key() +
                            ", or give each part a program");
    return Status::ok();
  }
  if (spec.train.data_parallel)
    return disagree(
        spec, spec.train.data_parallel.key(),
        "expected false, since each program has some of the layers, "
        "but found true",
        "remove it, or program from all parts");
  if (spec.exchange.dtype == "bfloat16" &&
      spec.train.compute_dtype == "float64")
    return disagree(
        spec, spec.exchange.dtype.key(),
        "only float32 values cross rounded, but compute_dtype is float64",
        "remove " + spec.exchange.dtype.key());
  std::map<std::string, std::string> known; // keys, by name
  for (const auto &part : spec.parts) {
    const rt::Word &name = part->program;
    const bool isName =
        !name.empty() && name.size() <= 32 && llvm::all_of(name, [](char c) {
          return llvm::isLower(c) || llvm::isDigit(c) || c == '_' || c == '-';
        });
    if (!isName)
      return fail(spec, ErrorCode::BadSpecValue, name.key(),
                  "expected a name of at most 32 letters a-z, digits, - and _, "
                  "since another part has one, but found '" +
                      name + "'",
                  "give each part a program, or none");
    if (auto [other, isNew] = known.emplace(name, name.key()); !isNew)
      return disagree(spec, name.key(),
                      "expected another name than " + other->second +
                          " but found '" + name + "'",
                      "remove program from all parts to have one program");
  }
  return Status::ok();
}

static Status checkParts(Spec &spec) {
  if (!spec.hasParts())
    return Status::ok();
  addPartAbove(spec);
  orderParts(spec);
  HONE_TRY(checkNames(spec));
  HONE_TRY(checkLayers(spec));
  for (const auto &part : spec.parts)
    if (!spec.given.count(part->method.key()))
      part->method = spec.train.method.text();
  settle(spec); // optimizers decide which keys are read
  return inheritFromTrain(spec);
}

/// Checks the parameters that train beside adapters or in their place.
static Status checkTrained(const Spec &spec) {
  const rt::LoraSettings &lora = spec.lora;
  for (const rt::NamedNumbers *pattern :
       {&lora.rank_pattern, &lora.alpha_pattern}) {
    if (std::string problem = PatternNumbers::problemOf(*pattern);
        !problem.empty())
      return fail(spec, ErrorCode::BadSpecValue, pattern->key(),
                  "expected " + problem,
                  "write keys that name several modules");
    for (const auto &[key, number] : *pattern)
      if (std::string problem = ModulePattern::problemOf(key); !problem.empty())
        return fail(spec, ErrorCode::BadSpecValue, pattern->key(),
                    "expected a regular expression for the paths of modules, "
                    "but '" +
                        key + "' " + problem,
                    "write the end of a path, as in layers.0.self_attn.q_proj");
  }
  for (const std::string &layers : lora.layers_to_transform)
    if (!parseLayerRange(layers))
      return fail(spec, ErrorCode::BadSpecValue, lora.layers_to_transform.key(),
                  "expected layers such as 3 or 0-4 but found '" + layers + "'",
                  "layers are counted from 0, and both ends are included");
  if (lora.use_dora && lora.lora_dropout > 0)
    return disagree(spec, lora.lora_dropout.key(),
                    "expected 0 with use_dora, since PEFT then drops inputs of "
                    "the weight, too, but found " +
                        lora.lora_dropout.text(),
                    "remove " + lora.lora_dropout.key() + " or " +
                        lora.use_dora.key());
  if (!lora.none)
    return Status::ok();
  for (const rt::MethodSettings *method : spec.methods())
    if (method->loraplus_lr_ratio != 1)
      return disagree(spec, method->loraplus_lr_ratio.key(),
                      "only B of adapters reads it, but with lora: none there "
                      "is no adapter",
                      "remove " + method->loraplus_lr_ratio.key());
  for (const rt::Setting *setting : lora.members())
    if (setting != &lora.none && spec.given.count(setting->key()))
      return disagree(
          spec, setting->key(),
          "only adapters read it, but with lora: none there is no adapter",
          "remove " + setting->key() + ", or lora: none");
  return Status::ok();
}

static Status checkOptimizers(const Spec &spec) {
  const rt::Methods alongDirections = rt::methodsOf(rt::MethodKind::Directions);
  for (const rt::MethodSettings *own : spec.methods()) {
    if (own->readsMatrices() &&
        llvm::is_contained(alongDirections, own->method.text()))
      return disagree(spec, own->optimizer.key(),
                      own->optimizer +
                          " adds up rows and columns of a gradient, which " +
                          own->method + " has in no memory",
                      "set " + own->optimizer.key() + " to sgd, or " +
                          own->method.key() + " to backprop");
    if (own->optimizer == "sinkgd" && !spec.lora.none)
      return disagree(spec, own->optimizer.key(),
                      "sinkgd is of whole weights, and adapters train: their "
                      "matrices have few rows or columns, which it makes as "
                      "long as each other",
                      "set lora: none, or " + own->optimizer.key() +
                          " to adamw-8bit or lion");
  }
  return Status::ok();
}

Status hone::checkTrainedWeights(const Spec &spec) {
  const rt::Word &dtype = spec.weights.dtype;
  if (!spec.lora.none)
    return Status::ok();
  bool isFloat64 = spec.train.compute_dtype == "float64";
  if (dtype == "int8" || dtype == "int4")
    return disagree(spec, dtype.key(),
                    std::string("expected ") +
                        (isFloat64 ? "float64" : "float32 or bfloat16") +
                        ", since with lora: none the weights train "
                        "and an update is smaller than the steps that " +
                        dtype + " has, but found " + dtype,
                    std::string("set weights.dtype to ") +
                        (isFloat64 ? "float64" : "bfloat16") +
                        ", or train adapters");
  // Updates that round compute in float32.
  if (isFloat64 && dtype == "bfloat16")
    return disagree(spec, dtype.key(),
                    "expected float64, as train.compute_dtype, since with "
                    "lora: none the weights train, but found bfloat16",
                    "leave weights.dtype out, or train adapters");
  return Status::ok();
}

/// "mezo and backprop"
static std::string methodsOf(const Spec &spec) {
  std::string text;
  for (const rt::MethodSettings *method : spec.methods())
    text += (text.empty() ? "" : " and ") + method->method;
  return text;
}

/// Checks that the method reads each key of training in `spec`.
static Status checkReaders(const Spec &spec) {
  // Tiles of rows are planned for every method, and none is no task to read.
  auto isStandard = [&](const rt::Setting &setting) {
    return (&setting == &spec.train.residuals && setting.text() == "planned") ||
           &setting == &spec.train.task;
  };
  for (const rt::Setting *setting : spec.train.members())
    if (spec.given.count(setting->key()) && !spec.isRead(*setting) &&
        !rt::Settings::isOfMethod(*setting) && !isStandard(*setting))
      return disagree(
          spec, setting->key(),
          setting->readers() + ", but method is " + methodsOf(spec) +
              (spec.compares() ? ", and compare is " + spec.train.compare.text()
                               : ""),
          "remove " + setting->key() + ", or set " +
              spec.methods().back()->method.key() + " to " +
              setting->readBy.methods.front());
  return Status::ok();
}

/// The element types of weights and adapter follow compute_dtype, unless they
/// are stored smaller; an adapter has the type that bfloat16 is computed in.
static Status settleElementTypes(Spec &spec) {
  const std::string &dtype = spec.train.compute_dtype;
  bool isBFloat16 = dtype == "bfloat16";
  bool isStoredSmaller = spec.weights.dtype == "bfloat16" ||
                         spec.weights.dtype == "int8" ||
                         spec.weights.dtype == "int4";
  for (auto [key, value] : {std::pair("weights.dtype", &spec.weights.dtype),
                            std::pair("lora.dtype", &spec.lora.dtype)}) {
    bool isAdapter = value == &spec.lora.dtype;
    if (!isAdapter && isStoredSmaller)
      continue;
    // Trained parameters may be float32, the type that bfloat16 is computed in.
    if (!isAdapter && spec.lora.none && isBFloat16 && spec.given.count(key) &&
        *value == "float32")
      continue;
    if (isAdapter && *value == "bfloat16" && dtype != "float64")
      continue;
    std::string expected = isAdapter && isBFloat16 ? "float32" : dtype;
    if (spec.given.count(key) && *value != expected)
      return disagree(
          spec, key,
          "expected " + expected +
              (expected == dtype
                   ? ", as train.compute_dtype"
                   : ", in which train.compute_dtype " + dtype + " adds up") +
              ", but found " + *value,
          "leave " + std::string(key) + " out, or change " +
              "train.compute_dtype");
    *value = expected;
  }
  if (spec.lora.none)
    spec.lora.dtype = spec.weights.dtype.text();
  return Status::ok();
}

static Status checkWeights(const Spec &spec) {
  int64_t group = spec.weights.group_size;
  if (group != 32 && group != 64 && group != 128)
    return fail(spec, ErrorCode::BadSpecValue, "weights.group_size",
                "expected 32, 64 or 128 but found " + std::to_string(group),
                "64 is the default of MLX");
  bool hasGroups = spec.weights.dtype == "int8" || spec.weights.dtype == "int4";
  if (spec.given.count("weights.group_size") && !hasGroups)
    return disagree(spec, "weights.group_size",
                    "only weights.dtype int8 and int4 have groups, but it is " +
                        spec.weights.dtype,
                    "remove weights.group_size, or set weights.dtype");
  if (spec.given.count("weights.path") && !spec.isMlir())
    return disagree(
        spec, "weights.path",
        "only an .mlir model has its weights elsewhere, but model is "
        "the directory " +
            spec.model,
        "remove weights.path: a Hugging Face directory has its own");
  if (spec.weights.untie && spec.isMlir())
    return disagree(spec, spec.weights.untie.key(),
                    "only a Hugging Face model says that its head and its "
                    "embedding share a table, but model is " +
                        spec.model,
                    "remove " + spec.weights.untie.key() +
                        ", and give the .mlir model two parameters");
  if (spec.weights.untie && !spec.lora.none)
    return disagree(spec, spec.weights.untie.key(),
                    "only with lora: none a shared table trains, but there are "
                    "adapters",
                    "remove " + spec.weights.untie.key() +
                        "; lora.modules_to_save trains copies");
  if (spec.weights.streaming == "planned" &&
      !spec.train.resident_budget.isBytes())
    return disagree(
        spec, "weights.streaming",
        "planned needs a train.resident_budget to plan for",
        "set train.resident_budget, or weights.streaming to true or "
        "false");
  return Status::ok();
}

/// Checks the element types that products multiply.
static Status checkProducts(const Spec &spec) {
  const std::string &dtype = spec.train.compute_dtype;
  const bool isBFloat16 = dtype == "bfloat16";
  bool hasPrecision =
      spec.train.float32_matmul_precision != "highest" ||
      (isBFloat16 && spec.given.count("train.float32_matmul_precision"));
  if (hasPrecision && dtype != "float32")
    return disagree(spec, "train.float32_matmul_precision",
                    "only float32 products have a precision, but compute_dtype "
                    "is " +
                        dtype,
                    isBFloat16
                        ? "remove train.float32_matmul_precision; "
                          "train.bfloat16_products chooses the operands"
                        : "remove train.float32_matmul_precision, or set "
                          "train.compute_dtype to float32");
  if (!isBFloat16 && spec.given.count("train.bfloat16_products"))
    return disagree(spec, "train.bfloat16_products",
                    "only compute_dtype bfloat16 reads it, but compute_dtype "
                    "is " +
                        dtype,
                    "remove train.bfloat16_products, or set "
                    "train.compute_dtype to bfloat16");
  return Status::ok();
}

/// Checks the keys that only a plan reads.
static Status checkPlanned(const Spec &spec) {
  for (const char *key : {"train.memory_budget", "train.resident_budget"})
    if (spec.given.count(key) && spec.train.residuals != "planned")
      return disagree(spec, key,
                      "only residuals planned has a budget, but residuals is " +
                          spec.train.residuals,
                      "remove " + std::string(key) +
                          ", or set train.residuals to planned");
  if (spec.train.compute_dtype == "bfloat16" &&
      spec.given.count("train.kept_dtype"))
    return disagree(
        spec, "train.kept_dtype",
        "with compute_dtype bfloat16 kept values are bfloat16 already",
        "remove train.kept_dtype");
  if (spec.train.compute_dtype == "float64" &&
      spec.train.kept_dtype == "bfloat16")
    return disagree(spec, "train.kept_dtype",
                    "only float32 values are kept rounded, but compute_dtype "
                    "is float64",
                    "remove train.kept_dtype");
  if (spec.train.kept_dtype == "bfloat16" && spec.train.residuals != "planned")
    return disagree(
        spec, "train.kept_dtype",
        "only residuals planned may keep bfloat16, but residuals is " +
            spec.train.residuals,
        "remove train.kept_dtype, or set train.residuals to planned");
  if (spec.train.activation_offloading == "planned" &&
      !(spec.train.residuals == "planned" &&
        spec.train.memory_budget.isBytes()))
    return disagree(
        spec, "train.activation_offloading",
        "planned needs residuals planned and a train.memory_budget to plan for",
        "set train.memory_budget, or train.activation_offloading to true or "
        "false");
  if (spec.train.activation_offloading != "false" && spec.hasParts())
    return disagree(spec, "train.activation_offloading",
                    "expected false, since the values that parts keep cross "
                    "between their entries, but found " +
                        spec.train.activation_offloading.text(),
                    "remove train.activation_offloading, or parts");
  return Status::ok();
}

static Status checkUpdateInBackward(Spec &spec) {
  if (!spec.train.optimizer_in_backward)
    return Status::ok();
  // The norm is of all gradients, and a sum is of all batches; here a layer
  // is updated before the others have gradients.
  if (!spec.given.count("train.max_grad_norm"))
    spec.train.max_grad_norm = 0;
  if (spec.train.max_grad_norm > 0)
    return disagree(spec, "train.max_grad_norm",
                    "expected 0, since optimizer_in_backward never has all "
                    "gradients to take a norm of, but found " +
                        spec.train.max_grad_norm.text(),
                    "leave train.max_grad_norm out, or set "
                    "train.optimizer_in_backward to false");
  if (spec.train.gradient_accumulation_steps > 1)
    return disagree(spec, "train.gradient_accumulation_steps",
                    "expected 1, since optimizer_in_backward updates in the "
                    "backward of each batch, but found " +
                        std::to_string(spec.train.gradient_accumulation_steps),
                    "raise train.batch_size, or set "
                    "train.optimizer_in_backward to false");
  return Status::ok();
}

Status hone::checkSpec(Spec &spec) {
  if (!spec.given.count("model"))
    return fail(spec, ErrorCode::MissingKey, "model",
                "the key is required but missing",
                "add: model: path/to/a/hugging-face/directory");
  HONE_TRY(checkParts(spec));
  HONE_TRY(checkPrograms(spec));
  HONE_TRY(checkModules(spec));
  settle(spec);
  HONE_TRY(checkMethods(spec));
  HONE_TRY(checkReaders(spec));
  HONE_TRY(checkTrained(spec));
  HONE_TRY(checkOptimizers(spec));
  HONE_TRY(settleElementTypes(spec));
  HONE_TRY(checkWeights(spec));
  HONE_TRY(checkProducts(spec));
  HONE_TRY(checkPlanned(spec));
  HONE_TRY(checkUpdateInBackward(spec));
  if (spec.given.count("train.epochs") && spec.train.steps > 0)
    return disagree(spec, "train.epochs",
                    "train.steps already says how long to train",
                    "give one of the two");
  constexpr int64_t mostRows = 1 << 24;
  if (spec.maxRows() > mostRows)
    return fail(spec, ErrorCode::TooManyRows, "train.batch_size",
                "expected batch_size x max_seq_length to be at most " +
                    std::to_string(mostRows) + " but found " +
                    std::to_string(spec.train.batch_size) + " x " +
                    std::to_string(spec.train.max_seq_length),
                "use gradient_accumulation_steps for larger batches");
  return Status::ok();
}
