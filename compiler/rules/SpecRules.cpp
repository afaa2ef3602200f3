//===- SpecRules.cpp - Rules between the keys of a spec -------------------===//

#include "compiler/rules/SpecRules.h"
#include "base/Utf8.h"
#include "compiler/spec/PatternNumbers.h"
#include "passes/methods/fgd/DirectionScales.h"
#include "passes/selection/SelectionRule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <optional>

using namespace hone;
using rt::ErrorCode;
using rt::Status;

/// yaml-cpp takes a NUL for the end of its input and then never gets there.
Status hone::checkSpecText(llvm::StringRef text, const std::string &place) {
  constexpr size_t most = 1 << 16;
  auto fail = [&](const std::string &problem) {
    return Status::error(
        ErrorCode::BadSpec,
        {place, problem, "a spec is YAML; see honec --help-spec for one"});
  };
  if (text.size() > most)
    return fail("expected a spec of at most " + std::to_string(most) +
                " bytes but found " + std::to_string(text.size()));
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
  return Status::error(code, {spec.placeOf(key), problem, remedy});
}

static Status disagree(const Spec &spec, const std::string &key,
                       const std::string &problem, const std::string &remedy) {
  return fail(spec, ErrorCode::KeysDisagree, key, problem, remedy);
}

//===----------------------------------------------------------------------===//
// Methods
//===----------------------------------------------------------------------===//

/// Sets the defaults that follow from the method, of what is given nowhere.
static void setStandards(const Spec &spec, rt::MethodSettings &own) {
  for (rt::Setting *setting : own.members())
    for (auto [of, standard] : setting->standards)
      if (of == own.method && !spec.given.count(setting->key()) &&
          !spec.given.count(std::string(spec.train.name) + "." + setting->name))
        setting->parse(standard);
}

/// The optimizer that alone reads `setting` of `own`; null: all do.
static const char *optimizerOf(const rt::MethodSettings &own,
                               const rt::Setting &setting) {
  if (&setting == &own.momentum)
    return "sgd";
  bool isAdam = &setting == &own.adam_beta1 || &setting == &own.adam_beta2 ||
                &setting == &own.adam_epsilon;
  return isAdam ? "adamw" : nullptr;
}

namespace {
/// What a selection means where a spec does not say it.
struct SelectionStandard {
  const char *selection;
  int64_t warmup = -1, period = 1; ///< -1: as the setting has it
  const char *unselected = "identity", *update = "momentum";
};
} // namespace

/// Of those that differ from the first, which is all others'.
static constexpr SelectionStandard kSelections[] = {
    {""},
    {"freeze", 0, 1, "identity", "none"},
    {"lisa", 0, 20, "exact", "none"},
    {"badam", 0, 100, "exact", "none"},
};

static const SelectionStandard &standardOf(const rt::MethodSettings &own) {
  const auto *found =
      llvm::find_if(kSelections, [&](const SelectionStandard &standard) {
        return own.selection == standard.selection;
      });
  return found == std::end(kSelections) ? kSelections[0] : *found;
}

/// What passes know of the selection.
static SelectionRule ruleOf(const rt::MethodSettings &own) {
  SelectionRule rule;
  (void)rule.parse(own.selection, "constant"); // the setting has no other names
  return rule;
}

/// Sets the defaults that follow from the selection.
static void setSelectionStandards(const Spec &spec, rt::MethodSettings &own) {
  const SelectionStandard &standard = standardOf(own);
  auto isGiven = [&](const rt::Setting &setting) {
    return spec.given.count(setting.key()) ||
           spec.given.count(std::string(spec.train.name) + "." + setting.name);
  };
  if (standard.warmup >= 0 && !isGiven(own.selection_warmup))
    own.selection_warmup = standard.warmup;
  if (!isGiven(own.selection_period))
    own.selection_period = standard.period;
  if (!isGiven(own.unselected))
    own.unselected = standard.unselected;
  if (!isGiven(own.unselected_update))
    own.unselected_update = standard.update;
}

/// Which selections read `setting` of `own`, if this one does not; "": it does.
static std::string selectionsReading(const rt::MethodSettings &own,
                                     const rt::Setting &setting) {
  const SelectionRule rule = ruleOf(own);
  auto ofOnly = [&](const char *selection) {
    return own.selection == selection ? "" : std::string(selection);
  };
  if (&setting == &own.selection_groups)
    return ofOnly("cyclic");
  if (&setting == &own.selection_decay ||
      &setting == &own.selection_temperature)
    return ofOnly("importance");
  if (&setting == &own.selection_ratio)
    return rule.hasRatio() ? "" : "uniform";
  if (&setting == &own.selection_schedule ||
      &setting == &own.selection_ratio_end)
    return rule.mayHaveSchedule() ? "" : "uniform";
  return "";
}

/// Checks the keys of lcsb.
static Status checkSelection(const Spec &spec, const rt::MethodSettings &own) {
  auto isGiven = [&](const rt::Setting &setting) {
    return spec.given.count(setting.key()) > 0;
  };
  const std::string selection = "selection " + own.selection;
  if (own.unselected == "identity" && spec.train.residuals != "mesp" &&
      spec.train.residuals != "planned")
    return disagree(spec, "train.residuals",
                    "expected mesp or planned, since layers that method lcsb "
                    "selects keep their inputs only, but found " +
                        spec.train.residuals,
                    "leave train.residuals out, or set " +
                        own.unselected.key() + " to exact");
  for (const rt::Setting *setting : own.members())
    if (std::string readers = selectionsReading(own, *setting);
        isGiven(*setting) && !readers.empty())
      return disagree(
          spec, setting->key(),
          own.selection == "cyclic" && setting == &own.selection_ratio
              ? "selection cyclic has groups instead"
          : setting == &own.selection_ratio ||
                  setting == &own.selection_schedule ||
                  setting == &own.selection_ratio_end
              ? selection + " does not read it"
              : "only selection " + readers + " reads it, but selection is " +
                    own.selection,
          own.selection == "cyclic" && setting == &own.selection_ratio
              ? "remove " + setting->key() + "; " + own.selection_groups.key() +
                    ": 2 selects half of the layers"
              : "remove " + setting->key() + ", or set " + own.selection.key() +
                    " to " + readers);
  if (isGiven(own.selection_ratio_end) && own.selection_schedule == "constant")
    return disagree(spec, own.selection_ratio_end.key(),
                    "only a " + own.selection_schedule.key() +
                        " reads it, but that is constant",
                    "remove " + own.selection_ratio_end.key() + ", or set " +
                        own.selection_schedule.key() + " to linear");
  if (own.selection_schedule != "constant" &&
      !isGiven(own.selection_ratio_end) &&
      !spec.given.count("train.selection_ratio_end"))
    return fail(spec, ErrorCode::MissingKey, own.selection_ratio_end.key(),
                "the key is required where " + own.selection_schedule.key() +
                    " is " + own.selection_schedule + ", but missing",
                "add the part of the layers that the last step selects, such "
                "as " +
                    std::string(own.selection_ratio_end.name) + ": 0.3");
  const SelectionStandard &standard = standardOf(own);
  const SelectionRule rule = ruleOf(own);
  auto isOther = [](const rt::Word &word, const char *text) {
    return static_cast<const std::string &>(word) != text;
  };
  for (auto [word, text] : {std::pair(&own.unselected, standard.unselected),
                            std::pair(&own.unselected_update, standard.update)})
    if (rule.isBlockwise() && isOther(*word, text))
      return disagree(spec, word->key(),
                      "expected " + std::string(text) + ", which " + selection +
                          " is, but found " + *word,
                      "remove " + word->key() + ", or set " +
                          own.selection.key() + " to uniform");
  if (rule.skipsForwards() && own.unselected != "identity")
    return disagree(spec, own.unselected.key(),
                    "expected identity, since " + selection +
                        " skips forwards, but found " + own.unselected,
                    "remove " + own.unselected.key());
  if (own.selection_ratio.isPlanned()) {
    const std::string &key = own.selection_ratio.key();
    if (!spec.train.memory_budget.isBytes())
      return disagree(spec, key,
                      "planned needs a train.memory_budget to plan for",
                      "set train.memory_budget, or give a number");
    if (spec.hasParts())
      return disagree(
          spec, key,
          "expected a number, since a plan finds one ratio and here "
          "are two parts, but found planned",
          "give a number");
    bool hasSlots = own.unselected == "identity" &&
                    own.selection_schedule == "constant" && !rule.isUnbounded();
    if (!hasSlots)
      return disagree(spec, key,
                      "expected a number, since memory does not depend on it "
                      "with " +
                          selection + ", unselected " + own.unselected +
                          " and a selection_schedule that is " +
                          own.selection_schedule + ", but found planned",
                      "give a number, or leave selection to uniform");
  }
  if (own.selection != "importance")
    return Status::ok();
  if (own.selection_warmup < 1)
    return disagree(spec, own.selection_warmup.key(),
                    "expected at least 1, since " + selection +
                        " has no gradients to average before, but found " +
                        own.selection_warmup.text(),
                    "raise " + own.selection_warmup.key());
  if (spec.train.optimizer_in_backward)
    return disagree(spec, "train.optimizer_in_backward",
                    "expected false, since " + selection +
                        " averages the lengths of all gradients, but found "
                        "true",
                    "remove train.optimizer_in_backward, or set " +
                        own.selection.key() + " to uniform");
  return Status::ok();
}

/// ", and compare is mezo"
static std::string ofComparison(const Spec &spec) {
  return spec.compares() ? ", and compare is " + spec.train.compare.text() : "";
}

/// Checks the keys of a method, in train or in a part.
static Status checkMethod(const Spec &spec, const rt::MethodSettings &own) {
  auto isGiven = [&](const rt::Setting &setting) {
    return spec.given.count(setting.key()) > 0;
  };
  const std::string &method = own.method;
  for (const rt::Setting *setting : own.members())
    if (isGiven(*setting) && !spec.isRead(*setting) &&
        rt::Settings::isOfMethod(*setting))
      return disagree(spec, setting->key(),
                      setting->readers() + ", but method is " + method +
                          ofComparison(spec),
                      "remove " + setting->key() + ", or set " +
                          own.method.key() + " to " + setting->methods.front());
  std::string problem;
  bool hasScales =
      !parseDirectionScales(own.direction_scales.text(), problem).empty();
  if (!problem.empty())
    return fail(spec, ErrorCode::BadSpecValue, own.direction_scales.key(),
                problem, "write layers in their order, counted from 0");
  if (isGiven(own.direction_scale_steps) && !hasScales)
    return disagree(spec, own.direction_scale_steps.key(),
                    "only " + own.direction_scales.key() +
                        " rise, but there are none",
                    "remove " + own.direction_scale_steps.key() + ", or add " +
                        own.direction_scales.key());
  if (method == "lcsb" || spec.train.compare == "lcsb")
    if (Status status = checkSelection(spec, own); !status.isOk())
      return status;
  for (const rt::Setting *setting : own.members())
    if (const char *optimizer = optimizerOf(own, *setting);
        optimizer && isGiven(*setting) && own.optimizer != optimizer)
      return disagree(spec, setting->key(),
                      "only optimizer " + std::string(optimizer) +
                          " reads it, but optimizer is " + own.optimizer,
                      "remove " + setting->key() + ", or set " +
                          own.optimizer.key() + " to " + optimizer);
  return Status::ok();
}

int64_t Spec::lowerLayers() const {
  auto range = parseLayerRange(lower.layers);
  return range ? range->last + 1 : 0;
}

std::optional<int64_t> Spec::lastLayer() const {
  auto range = parseLayerRange(upper.layers);
  return range ? std::optional(range->last) : std::nullopt;
}

/// Checks which layers are whose.
static Status checkLayers(const Spec &spec) {
  const rt::Word &lower = spec.lower.layers, &upper = spec.upper.layers;
  for (const rt::Word *layers : {&lower, &upper})
    if (!layers->empty() && !parseLayerRange(*layers))
      return fail(spec, ErrorCode::BadSpecValue, layers->key(),
                  "expected a range of layers such as 0-4 but found '" +
                      *layers + "'",
                  "layers are counted from 0, both ends are meant");
  if (lower.empty())
    return fail(spec, ErrorCode::MissingKey, lower.key(),
                "the key is required where there are parts, but missing",
                "add layers: 0-4 for the first five layers; "
                "parts.upper has the others");
  auto range = *parseLayerRange(lower);
  if (range.first != 0)
    return fail(spec, ErrorCode::BadSpecValue, lower.key(),
                "expected layers from 0 on but found '" + lower +
                    "', which leaves the layers below without a part",
                "write 0-" + std::to_string(range.last));
  if (upper.empty() || parseLayerRange(upper)->first == range.last + 1)
    return Status::ok();
  bool overlap = parseLayerRange(upper)->first <= range.last;
  return fail(spec, ErrorCode::BadSpecValue, upper.key(),
              "expected layers from " + std::to_string(range.last + 1) +
                  " on, behind those of " + lower.key() + ", but found '" +
                  upper + "', which " +
                  (overlap ? "overlaps with them" : "leaves layers out"),
              "leave " + upper.key() + " out to have all the others");
}

/// What a part is not given is as in train; optimizer and selection are
/// declared before what only some of them read.
static Status inheritFromTrain(Spec &spec) {
  for (const rt::Setting *common : spec.train.members()) {
    if (!spec.given.count(common->key()))
      continue;
    bool isCommon = false, isUsed = false;
    for (rt::PartSettings *part : {&spec.lower, &spec.upper}) {
      rt::Setting *own = rt::Settings::find(*part, *common);
      if (!own)
        continue;
      isCommon = true;
      if (spec.given.count(own->key()) || !own->isReadBy(part->method))
        continue;
      own->parse(common->text());
      const char *optimizer = optimizerOf(*part, *own);
      isUsed |=
          (!optimizer || part->optimizer == optimizer) &&
          (part->method != "lcsb" || selectionsReading(*part, *own).empty());
    }
    if (isCommon && !isUsed)
      return disagree(spec, common->key(),
                      "no part reads it: both have their own, or methods that "
                      "do not",
                      "remove " + common->key());
  }
  return Status::ok();
}

static Status checkParts(Spec &spec) {
  auto isOfPart = [&](const auto &given) {
    return llvm::StringRef(given.first).starts_with("parts.");
  };
  if (llvm::none_of(spec.given, isOfPart))
    return Status::ok();
  if (Status status = checkLayers(spec); !status.isOk())
    return status;
  if (spec.train.optimizer_in_backward)
    return disagree(spec, "train.optimizer_in_backward",
                    "expected false, since updates of parts come behind all "
                    "gradients, but found true",
                    "remove train.optimizer_in_backward, or parts");
  for (rt::PartSettings *part : {&spec.lower, &spec.upper}) {
    if (!spec.given.count(part->method.key()))
      part->method = spec.train.method.text();
    setStandards(spec, *part);
  }
  return inheritFromTrain(spec);
}

/// Checks the second method.
static Status checkComparison(const Spec &spec) {
  const rt::TrainSettings &train = spec.train;
  const std::string &key = train.compare.key();
  if (!spec.compares())
    return spec.given.count(train.compare_every.key())
               ? disagree(spec, train.compare_every.key(),
                          "only a comparison reads it, but compare is none",
                          "remove " + train.compare_every.key() + ", or set " +
                              key + " to another method")
               : Status::ok();
  if (spec.hasParts())
    return disagree(spec, key,
                    "expected none, since parts have methods of their own, but "
                    "found " +
                        train.compare,
                    "remove " + key + ", or parts");
  if (train.compare.text() == train.method.text())
    return disagree(spec, key,
                    "expected another method than that which trains, whose "
                    "gradient it would be again, but found " +
                        train.compare,
                    "remove " + key + ", or set " + train.method.key() +
                        " to another one");
  // What is kept rounded follows from what a plan has room for.
  if (train.kept_dtype == "bfloat16")
    return disagree(spec, key,
                    "expected none, since with kept_dtype bfloat16 the room "
                    "that a comparison takes would change the run's gradients, "
                    "but found " +
                        train.compare,
                    "remove " + key + ", or " + train.kept_dtype.key());
  if (train.selection_ratio.isPlanned())
    return disagree(spec, key,
                    "expected none, since with a planned selection_ratio the "
                    "room that a comparison takes would change the run's "
                    "gradients, but found " +
                        train.compare,
                    "remove " + key + ", or give " +
                        train.selection_ratio.key() + " a number");
  if (train.compare == "lcsb" && train.selection == "importance")
    return disagree(spec, train.selection.key(),
                    "expected another selection, since importance is the "
                    "average length of gradients of steps that lcsb trained, "
                    "but found importance",
                    "set " + train.selection.key() + " to uniform, or " +
                        train.method.key() + " to lcsb");
  return Status::ok();
}

/// Checks what trains beside adapters or in their place.
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
  constexpr int64_t mostLayers = 1 << 16;
  for (const std::string &layers : lora.layers_to_transform)
    if (auto range = parseLayerRange(layers);
        !range || range->last >= mostLayers)
      return fail(spec, ErrorCode::BadSpecValue, lora.layers_to_transform.key(),
                  "expected layers such as 3 or 0-4 but found '" + layers + "'",
                  "layers are counted from 0, both ends are meant");
  if (lora.use_dora && lora.lora_dropout > 0)
    return disagree(spec, lora.lora_dropout.key(),
                    "expected 0 with use_dora, where PEFT drops what the "
                    "weight reads too, but found " +
                        lora.lora_dropout.text(),
                    "remove " + lora.lora_dropout.key() + " or " +
                        lora.use_dora.key());
  if (!lora.none)
    return Status::ok();
  for (const rt::MethodSettings *method : spec.methods())
    if (method->loraplus_lr_ratio != 1)
      return disagree(spec, method->loraplus_lr_ratio.key(),
                      "only B of adapters reads it, but with lora: none there "
                      "are none",
                      "remove " + method->loraplus_lr_ratio.key());
  for (const rt::Setting *setting : lora.members())
    if (setting != &lora.none && spec.given.count(setting->key()))
      return disagree(spec, setting->key(),
                      "only adapters read it, but with lora: none all "
                      "parameters of the model train and there are none",
                      "remove " + setting->key() + ", or lora: none");
  return Status::ok();
}

Status hone::checkTrainedWeights(const Spec &spec) {
  const rt::Word &dtype = spec.weights.dtype;
  if (spec.lora.none && (dtype == "int8" || dtype == "int4"))
    return disagree(spec, dtype.key(),
                    "expected float32 or bfloat16, since with lora: none the "
                    "weights train and an update is smaller than what " +
                        dtype + " can tell apart, but found " + dtype,
                    "set weights.dtype to bfloat16, or train adapters");
  return Status::ok();
}

Status hone::checkSpec(Spec &spec) {
  auto fail = [&](ErrorCode code, const std::string &key,
                  const std::string &problem, const std::string &remedy) {
    return ::fail(spec, code, key, problem, remedy);
  };
  auto disagree = [&](const std::string &key, const std::string &problem,
                      const std::string &remedy) {
    return ::disagree(spec, key, problem, remedy);
  };
  if (!spec.given.count("model"))
    return fail(ErrorCode::MissingKey, "model",
                "the key is required but missing",
                "add: model: path/to/a/hugging-face/directory");

  if (Status status = checkParts(spec); !status.isOk())
    return status;
  if (Status status = checkComparison(spec); !status.isOk())
    return status;
  if (!spec.hasParts()) {
    setStandards(spec, spec.train);
    setSelectionStandards(spec, spec.train);
    if (Status status = checkMethod(spec, spec.train); !status.isOk())
      return status;
  }
  if (spec.hasParts()) {
    for (rt::PartSettings *part : {&spec.lower, &spec.upper})
      setSelectionStandards(spec, *part);
    for (rt::PartSettings *part : {&spec.lower, &spec.upper})
      if (Status status = checkMethod(spec, *part); !status.isOk())
        return status;
    const rt::Integer &below = spec.lower.selection_warmup,
                      &above = spec.upper.selection_warmup;
    if (spec.isRead(below) && spec.isRead(above) && below != above)
      return disagree(above.key(),
                      "expected " + below.text() + ", as " + below.key() +
                          ", since one backward is of all layers in a warm-up, "
                          "but found " +
                          above.text(),
                      "set train.selection_warmup for both");
  }
  // Tiles of rows are planned for every method, and none is no task to read.
  auto isStandard = [&](const rt::Setting &setting) {
    return (&setting == &spec.train.residuals && setting.text() == "planned") ||
           &setting == &spec.train.task;
  };
  for (const rt::Setting *setting : spec.train.members())
    if (spec.given.count(setting->key()) && !spec.isRead(*setting) &&
        !rt::Settings::isOfMethod(*setting) && !isStandard(*setting))
      return disagree(setting->key(),
                      setting->readers() + ", but method is " +
                          (spec.hasParts()
                               ? spec.lower.method + " and " + spec.upper.method
                               : spec.train.method.text()) +
                          ofComparison(spec),
                      "remove " + setting->key() + ", or set " +
                          (spec.hasParts() ? spec.upper.method.key()
                                           : spec.train.method.key()) +
                          " to " + setting->methods.front());

  if (Status status = checkTrained(spec); !status.isOk())
    return status;
  // The element types of weights and adapter follow compute_dtype, unless they
  // are stored smaller; an adapter has the type that bfloat16 is computed in.
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
    // What trains may be held in what bfloat16 is computed in.
    if (!isAdapter && spec.lora.none && isBFloat16 && spec.given.count(key) &&
        *value == "float32")
      continue;
    if (isAdapter && *value == "bfloat16" && dtype != "float64")
      continue;
    std::string expected = isAdapter && isBFloat16 ? "float32" : dtype;
    if (spec.given.count(key) && *value != expected)
      return disagree(
          key,
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
  int64_t group = spec.weights.group_size;
  if (group != 32 && group != 64 && group != 128)
    return fail(ErrorCode::BadSpecValue, "weights.group_size",
                "expected 32, 64 or 128 but found " + std::to_string(group),
                "64 is the default of MLX");
  bool hasGroups = spec.weights.dtype == "int8" || spec.weights.dtype == "int4";
  if (spec.given.count("weights.group_size") && !hasGroups)
    return disagree("weights.group_size",
                    "only weights.dtype int8 and int4 have groups, but it is " +
                        spec.weights.dtype,
                    "remove weights.group_size, or set weights.dtype");
  if (spec.given.count("train.epochs") && spec.train.steps > 0)
    return disagree("train.epochs",
                    "train.steps already says how long to train",
                    "give one of the two");
  if (spec.given.count("weights.path") && !spec.isMlir())
    return disagree(
        "weights.path",
        "only an .mlir model has its weights elsewhere, but model is "
        "the directory " +
            spec.model,
        "remove weights.path: a Hugging Face directory has its own");
  bool hasPrecision =
      spec.train.float32_matmul_precision != "highest" ||
      (isBFloat16 && spec.given.count("train.float32_matmul_precision"));
  if (hasPrecision && dtype != "float32")
    return disagree("train.float32_matmul_precision",
                    "only float32 products have a precision, but compute_dtype "
                    "is " +
                        dtype,
                    isBFloat16
                        ? "remove train.float32_matmul_precision; "
                          "train.bfloat16_products says what is multiplied"
                        : "remove train.float32_matmul_precision, or set "
                          "train.compute_dtype to float32");
  if (!isBFloat16 && spec.given.count("train.bfloat16_products"))
    return disagree("train.bfloat16_products",
                    "only compute_dtype bfloat16 reads it, but compute_dtype "
                    "is " +
                        dtype,
                    "remove train.bfloat16_products, or set "
                    "train.compute_dtype to bfloat16");
  for (const char *key : {"train.memory_budget", "train.resident_budget"})
    if (spec.given.count(key) && spec.train.residuals != "planned")
      return disagree(key,
                      "only residuals planned has a budget, but residuals is " +
                          spec.train.residuals,
                      "remove " + std::string(key) +
                          ", or set train.residuals to planned");
  if (spec.weights.streaming == "planned" &&
      !spec.train.resident_budget.isBytes())
    return disagree(
        "weights.streaming",
        "planned needs a train.resident_budget to plan for",
        "set train.resident_budget, or weights.streaming to true or "
        "false");
  if (spec.train.optimizer_in_backward) {
    // The norm is of all gradients, and a sum is of all batches; here a layer
    // is updated before the others have gradients.
    if (!spec.given.count("train.max_grad_norm"))
      spec.train.max_grad_norm = 0;
    if (spec.train.max_grad_norm > 0)
      return disagree("train.max_grad_norm",
                      "expected 0, since optimizer_in_backward never has all "
                      "gradients to take a norm of, but found " +
                          spec.train.max_grad_norm.text(),
                      "leave train.max_grad_norm out, or set "
                      "train.optimizer_in_backward to false");
    if (spec.train.gradient_accumulation_steps > 1)
      return disagree(
          "train.gradient_accumulation_steps",
          "expected 1, since optimizer_in_backward updates in the "
          "backward of each batch, but found " +
              std::to_string(spec.train.gradient_accumulation_steps),
          "raise train.batch_size, or set "
          "train.optimizer_in_backward to false");
  }
  if (isBFloat16 && spec.given.count("train.kept_dtype"))
    return disagree("train.kept_dtype",
                    "with compute_dtype bfloat16 what is kept is bfloat16 "
                    "already",
                    "remove train.kept_dtype");
  if (spec.train.kept_dtype == "bfloat16" && spec.train.residuals != "planned")
    return disagree(
        "train.kept_dtype",
        "only residuals planned may keep bfloat16, but residuals is " +
            spec.train.residuals,
        "remove train.kept_dtype, or set train.residuals to planned");
  constexpr int64_t mostRows = 1 << 24;
  if (spec.maxRows() > mostRows)
    return fail(ErrorCode::TooManyRows, "train.batch_size",
                "expected batch_size x max_seq_length to be at most " +
                    std::to_string(mostRows) + " but found " +
                    std::to_string(spec.train.batch_size) + " x " +
                    std::to_string(spec.train.max_seq_length),
                "use gradient_accumulation_steps for larger batches");
  return Status::ok();
}
