//===- StepSettings.cpp - The settings of a step, for its passes ----------===//

#include "passes/methods/StepSettings.h"

#include "dialects/Hone/HoneOps.h"
#include "passes/parts/LayerRange.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace hone {

StringRef partOf(const rt::Settings &settings, const rt::MethodSettings &own) {
  for (const auto &part : settings.parts)
    if (&own == part.get())
      return part->part;
  return "";
}

size_t placeOf(const rt::Settings &settings, const rt::MethodSettings &own) {
  size_t place = 0;
  while (place < settings.parts.size() && &own != &settings.parts[place])
    ++place;
  return place;
}

/// The method of `own`, and the method that is compared with it.
static SmallVector<StringRef> methodsOf(const rt::Settings &settings,
                                        const rt::MethodSettings &own) {
  SmallVector<StringRef> methods = {own.method};
  if (settings.compares())
    methods.push_back(settings.train.compare);
  return methods;
}

//===----------------------------------------------------------------------===//
// As an attribute
//===----------------------------------------------------------------------===//

static Attribute attributeOf(Builder &builder, const rt::Setting &setting) {
  const rt::Setting::Number number = setting.number();
  if (!setting.choices()) {
    if (const auto *truth = std::get_if<bool>(&number))
      return builder.getBoolAttr(*truth);
    if (const auto *whole = std::get_if<int64_t>(&number))
      return builder.getI64IntegerAttr(*whole);
    if (const auto *real = std::get_if<double>(&number))
      return builder.getF64FloatAttr(*real);
  }
  return builder.getStringAttr(setting.text());
}

/// The text for Setting::parse; empty: of no kind that settings have.
static std::string textOf(Attribute attribute) {
  if (auto truth = dyn_cast<BoolAttr>(attribute))
    return truth.getValue() ? "true" : "false";
  if (auto whole = dyn_cast<IntegerAttr>(attribute))
    return std::to_string(whole.getInt());
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return rt::formatExact(real.getValueAsDouble());
  if (auto word = dyn_cast<StringAttr>(attribute))
    return word.str();
  return "";
}

/// Reads `given` into the members of `section`, but for parts, and notes their
/// keys in `found`.
static LogicalResult readSection(ModuleOp module, DictionaryAttr given,
                                 rt::Section &section,
                                 std::set<std::string> &found) {
  for (NamedAttribute attribute : given) {
    StringRef name = attribute.getName();
    if (isa<DictionaryAttr>(attribute.getValue()))
      continue;
    auto member = llvm::find_if(
        section.members(), [&](rt::Setting *own) { return name == own->name; });
    auto refuse = [&] {
      return module.emitError()
             << HoneDialect::getMethodAttrName() << ": expects ";
    };
    if (member == section.members().end())
      return refuse() << "settings of " << section.name << " but got '" << name
                      << "'";
    rt::Setting &setting = **member;
    if (!setting.parse(textOf(attribute.getValue())))
      return refuse() << setting.key() << " to be " << setting.expected()
                      << " but got " << attribute.getValue();
    found.insert(setting.key());
  }
  return success();
}

FailureOr<StepSettings> StepSettings::read(ModuleOp module) {
  StepSettings settings;
  auto whole =
      module->getAttrOfType<DictionaryAttr>(HoneDialect::getMethodAttrName());
  if (!whole)
    return settings;
  if (failed(readSection(module, whole, settings.train, settings.given)))
    return failure();
  for (NamedAttribute attribute : whole)
    if (auto own = dyn_cast<DictionaryAttr>(attribute.getValue());
        own && failed(readSection(module, own,
                                  settings.parts.add(attribute.getName().str()),
                                  settings.given)))
      return failure();
  orderParts(settings);
  settleMethods(settings,
                [&](const std::string &key) { return settings.isGiven(key); });
  return settings;
}

void StepSettings::write(const rt::Settings &settings, ModuleOp module) {
  Builder builder(module.getContext());
  auto sectionOf = [&](const rt::Section &section, auto isWanted) {
    NamedAttrList own;
    for (const rt::Setting *setting : section.members())
      if (setting->setBy == rt::SetBy::Spec && isWanted(*setting))
        own.append(setting->name, attributeOf(builder, *setting));
    return own;
  };
  auto isRead = [&](const rt::MethodSettings &own, const rt::Setting &setting) {
    return settings.isRead(setting) &&
           llvm::any_of(methodsOf(settings, own), [&](StringRef method) {
             return setting.isReadBy(method.str()) &&
                    !findUnread(own, method, setting);
           });
  };
  const rt::TrainSettings &train = settings.train;
  NamedAttrList whole = sectionOf(train, [&](const rt::Setting &setting) {
    bool isCommon = &setting == &train.compare ||
                    &setting == &train.optimizer_in_backward ||
                    &setting == &train.data_parallel ||
                    (&setting == &train.asynchronous && train.modules > 1);
    return isCommon ||
           (!settings.hasParts() && rt::Settings::isOfMethod(setting) &&
            isRead(train, setting));
  });
  for (const auto &part : settings.parts)
    whole.append(part->part, builder.getDictionaryAttr(
                                 sectionOf(*part, [&](const rt::Setting &own) {
                                   return &own != &part->program &&
                                          !own.text().empty() &&
                                          isRead(*part, own);
                                 })));
  module->setAttr(HoneDialect::getMethodAttrName(),
                  whole.getDictionary(module.getContext()));
}

//===----------------------------------------------------------------------===//
// The methods' rules
//===----------------------------------------------------------------------===//

void orderParts(rt::Settings &settings) {
  auto firstOf = [](const std::unique_ptr<rt::PartSettings> &part) {
    auto range = parseLayerRange(part->layers);
    return range ? range->first : INT64_MAX;
  };
  llvm::stable_sort(settings.parts, [&](const auto &one, const auto &other) {
    return firstOf(one) < firstOf(other);
  });
}

std::vector<int64_t> cutsOf(const rt::Settings &settings) {
  std::vector<int64_t> cuts;
  for (const auto &part : settings.parts) {
    auto range = parseLayerRange(part->layers);
    cuts.push_back(range ? range->last + 1 : 0);
  }
  if (!cuts.empty())
    cuts.pop_back();
  return cuts;
}

FailureOr<LayerParts> cutParts(const rt::Settings &settings, EntryOp loss) {
  if (!settings.hasParts())
    return LayerParts();
  std::vector<std::string> names;
  for (const auto &part : settings.parts)
    names.push_back(part->part);
  return LayerParts::cut(loss, cutsOf(settings), names);
}

void settleMethods(rt::Settings &settings, IsGiven isGiven) {
  SmallVector<rt::MethodSettings *> all;
  for (const auto &part : settings.parts)
    all.push_back(part.get());
  if (all.empty())
    all.push_back(&settings.train);
  for (rt::MethodSettings *own : all) {
    // A part takes settings that it is not given from train.
    auto isSaid = [&](const rt::Setting &setting) {
      return isGiven(setting.key()) ||
             isGiven(std::string(settings.train.name) + "." + setting.name);
    };
    for (rt::Setting *setting : own->members())
      for (auto [method, standard] : setting->standards)
        if (method == own->method && !isSaid(*setting))
          setting->parse(standard);
    for (StringRef name : methodsOf(settings, *own))
      if (const Method *method = findMethod(name); method && method->settle)
        method->settle(*own, isSaid);
  }
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

std::optional<Problem> findUnread(const rt::MethodSettings &own,
                                  StringRef method,
                                  const rt::Setting &setting) {
  const Method *found = findMethod(method);
  if (found && found->findUnread && setting.isReadBy(method.str()))
    if (std::optional<Problem> problem = found->findUnread(own, setting))
      return problem;
  ArrayRef<const char *> optimizers = setting.readBy.optimizers;
  if (optimizers.empty() || llvm::is_contained(optimizers, own.optimizer))
    return std::nullopt;
  return Problem{
      setting,
      (optimizers.size() == 1 ? "only optimizer " : "only optimizers ") +
          llvm::join(optimizers, " and ") +
          (optimizers.size() == 1 ? " reads" : " read") +
          " it, but optimizer is " + own.optimizer,
      "remove " + setting.key() + ", or set " + own.optimizer.key() + " to " +
          optimizers.front()};
}

/// The second method must be one that can be compared.
static std::optional<Problem>
findProblemOfComparison(const rt::Settings &settings, IsGiven isGiven) {
  const rt::TrainSettings &train = settings.train;
  const std::string &key = train.compare.key();
  if (!settings.compares() && isGiven(train.compare_every.key()))
    return Problem{train.compare_every,
                   "only a comparison reads it, but compare is none",
                   "remove " + train.compare_every.key() + ", or set " + key +
                       " to another method"};
  if (!settings.compares())
    return std::nullopt;
  if (settings.hasParts())
    return Problem{train.compare,
                   "expected none, since parts have methods of their own, but "
                   "found " +
                       train.compare,
                   "remove " + key + ", or parts"};
  if (train.compare.text() == train.method.text())
    return Problem{train.compare,
                   "expected another method than that which trains, whose "
                   "gradient it would be again, but found " +
                       train.compare,
                   "remove " + key + ", or set " + train.method.key() +
                       " to another one"};
  // A plan keeps values rounded if it has no room for them otherwise.
  if (train.kept_dtype == "bfloat16")
    return Problem{train.compare,
                   "expected none, since with kept_dtype bfloat16 the room "
                   "that a comparison takes would change the run's gradients, "
                   "but found " +
                       train.compare,
                   "remove " + key + ", or " + train.kept_dtype.key()};
  return std::nullopt;
}

/// Problems of one method, and of its comparison.
static std::optional<Problem> findProblemOf(const rt::Settings &settings,
                                            const rt::MethodSettings &own,
                                            IsGiven isGiven,
                                            std::optional<LayerCounts> layers) {
  for (const rt::Setting *setting : own.members())
    if (isGiven(setting->key()) && !settings.isRead(*setting) &&
        rt::Settings::isOfMethod(*setting))
      return Problem{
          *setting,
          setting->readers() + ", but method is " + own.method +
              (settings.compares()
                   ? ", and compare is " + settings.train.compare.text()
                   : ""),
          "remove " + setting->key() + ", or set " + own.method.key() + " to " +
              setting->readBy.methods.front()};
  for (StringRef name : methodsOf(settings, own)) {
    const Method *method = findMethod(name);
    if (!method)
      continue;
    for (const rt::Setting *setting : own.members())
      if (isGiven(setting->key()))
        if (std::optional<Problem> problem = findUnread(own, name, *setting))
          return problem;
    if (method->findProblem)
      if (std::optional<Problem> problem =
              method->findProblem({settings, own, name, isGiven, layers}))
        return problem;
  }
  return std::nullopt;
}

/// Problems of a step as a whole: parts, ranks and updates must go together.
static std::optional<Problem> findProblemOfStep(const rt::Settings &settings) {
  const rt::TrainSettings &train = settings.train;
  if (settings.hasParts() && train.optimizer_in_backward)
    return Problem{train.optimizer_in_backward,
                   "expected false, since updates of parts come after all "
                   "gradients, but found true",
                   "remove " + train.optimizer_in_backward.key() +
                       ", or parts"};
  if (train.data_parallel && train.optimizer_in_backward)
    return Problem{train.optimizer_in_backward,
                   "expected false, since ranks add the gradients of all "
                   "layers, but found true",
                   "remove it, or " + train.data_parallel.key()};
  if (train.data_parallel && settings.compares())
    return Problem{train.compare,
                   "expected none, since each rank would compare gradients of "
                   "its own batches, but found " +
                       train.compare.text(),
                   "remove it, or " + train.data_parallel.key()};
  return std::nullopt;
}

/// All parts with a warm-up must be able to have it in one backward.
static std::optional<Problem>
findProblemOfWarmups(const rt::Settings &settings) {
  const rt::Integer *below = nullptr;
  for (const auto &part : settings.parts) {
    const rt::Integer &own = part->selection_warmup;
    if (!settings.isRead(own))
      continue;
    if (settings.hasPrograms() && own > 0)
      return Problem{own,
                     "expected 0, since the gradient of a warm-up is another "
                     "entry, and programs exchange the results of one entry, "
                     "but found " +
                         own.text(),
                     "set " + own.key() + " to 0" +
                         (part->selection == "importance"
                              ? ", and " + part->selection.key() + " to uniform"
                              : "") +
                         ", or remove program from all parts"};
    if (below && *below != own)
      return Problem{own,
                     "expected " + below->text() + ", as " + below->key() +
                         ", since one backward is of all layers in a warm-up, "
                         "but found " +
                         own.text(),
                     "set " + settings.train.selection_warmup.key() +
                         " for both"};
    below = &own;
  }
  return std::nullopt;
}

std::optional<Problem> findMethodProblem(
    const rt::Settings &settings, IsGiven isGiven,
    function_ref<LayerCounts(const rt::MethodSettings &own)> layers) {
  if (auto problem = findProblemOfComparison(settings, isGiven))
    return problem;
  if (auto problem = findProblemOfStep(settings))
    return problem;
  for (const rt::MethodSettings *own : settings.methods())
    if (auto problem =
            findProblemOf(settings, *own, isGiven,
                          layers ? std::optional(layers(*own)) : std::nullopt))
      return problem;
  return findProblemOfWarmups(settings);
}

} // namespace hone
