//===- ModuleSummary.cpp - From a placed module to hone_module ------------===//
//
// Inputs are found by walking the module once more: a region knows where a
// value is, only the op knows its type.
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/ModuleSummary.h"
#include "base/Json.h"
#include "passes/module/Layers.h"
#include "passes/module/Schedule.h"
#include "passes/module/WeightStorage.h"
#include "passes/place/Lifetimes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace hone;
using namespace mlir;

static hone_dtype dtypeOf(Type element) {
  if (element.isF64())
    return HONE_F64;
  if (element.isBF16())
    return HONE_BF16;
  if (element.isInteger(8))
    return HONE_U8;
  return element.isF32() ? HONE_F32 : HONE_I32;
}

std::vector<WeightDescription>
hone::describeWeights(const ParameterTable &parameters) {
  std::vector<WeightDescription> weights;
  for (const Parameter &p : parameters.frozen())
    for (const StoredTensor &tensor : storedTensors(p.type, p.storage))
      weights.push_back({p.name + tensor.suffix.str(),
                         dtypeOf(tensor.type.getElementType()),
                         tensor.type.getShape().vec()});
  return weights;
}

static hone_init initOf(Init init) {
  switch (init) {
  case Init::Zero:
    return HONE_INIT_ZERO;
  case Init::KaimingUniform:
    return HONE_INIT_KAIMING_UNIFORM;
  case Init::Pretrained:
  case Init::RowLengths:
    return HONE_INIT_PRETRAINED;
  }
  llvm_unreachable("all are handled");
}

static std::vector<int64_t> shapeOf(Type type, int64_t maxRows) {
  std::vector<int64_t> shape;
  for (int64_t size : cast<RankedTensorType>(type).getShape())
    shape.push_back(ShapedType::isDynamic(size) ? maxRows : size);
  return shape;
}

static Type elementOf(Type type) {
  return cast<RankedTensorType>(type).getElementType();
}

/// Fails with a diagnostic if the module lacks the region.
static FailureOr<uint64_t> regionOffset(ModuleOp module, const Twine &name) {
  if (RegionOp region = findRegion(module, name.str()))
    return uint64_t(region.getOffset());
  return module.emitError("expects a hone.region \"")
         << name << "\"; run hone-place first";
}

static uint64_t arenaBytes(ModuleOp module, unsigned placement) {
  return placedNumber(module, HoneDialect::getArenaBytesAttrName(),
                      HoneDialect::getFewerArenaBytesAttrName(), placement);
}

/// Bytes that a run which uses the region needs: the whole arena, or more where
/// the region is after it.
static uint64_t regionEnd(ModuleOp module, StringRef name,
                          unsigned placement = 0) {
  const uint64_t arena = arenaBytes(module, placement);
  RegionOp region = findRegion(module, name);
  return region ? std::max<uint64_t>(arena, region.offsetIn(placement) +
                                                region.getBytes())
                : arena;
}

/// The placements for fewer rows than the most.
static std::vector<PlacementDescription>
describePlacements(ModuleOp module, const OffsetTable &offsets) {
  std::vector<PlacementDescription> placements;
  const auto rows = placedRows(module);
  RegionOp gradient = findRegion(module, "gradient");
  for (unsigned i = 1; i < offsets.placements(); ++i)
    placements.push_back({rows[i].rows, offsets.offsetsIn(i),
                          arenaBytes(module, i),
                          regionEnd(module, "accumulation", i),
                          gradient ? uint64_t(gradient.offsetIn(i)) : 0,
                          regionEnd(module, "gradient", i)});
  return placements;
}

/// The states that optimizers keep beside theta.
static std::vector<SlotDescription> describeStates(ModuleOp module) {
  std::vector<SlotDescription> states;
  for (RegionOp region : module.getOps<RegionOp>())
    if (std::optional<Type> element = region.getElement()) {
      int64_t width = element->getIntOrFloatBitWidth() / 8;
      states.push_back({region.getName().str(),
                        dtypeOf(*element),
                        {static_cast<int64_t>(region.getBytes()) / width},
                        uint64_t(region.getOffset())});
    }
  return states;
}

FailureOr<ModuleDescription>
hone::describeModule(ModuleOp module, const ParameterTable &parameters) {
  ModuleDescription description;
  bool isComplete = true;
  auto placeOf = [&](const Twine &name) -> uint64_t {
    FailureOr<uint64_t> offset = regionOffset(module, name);
    isComplete &= succeeded(offset);
    return offset.value_or(0);
  };
  description.maxRows = maxRows(module).value_or(0);
  const bool generates = Schedule::find(module, Purpose::Generate).has_value();
  description.arenaBytes = arenaBytes(module, 0);
  const OffsetTable offsets = OffsetTable::of(module);
  description.offsets = offsets.offsetsIn(0);
  description.placements = describePlacements(module, offsets);
  description.states = describeStates(module);
  description.trainableElements = parameters.trainableElements();
  if (description.trainableElements > 0)
    description.thetaOffset = placeOf("theta");
  if (description.trainableElements > 0 && !generates)
    description.gradientOffset = placeOf("gradient");
  description.gradientEnd = regionEnd(module, "gradient");
  description.accumulationEnd = regionEnd(module, "accumulation");

  description.schedules = describeSchedules(module, offsets);

  llvm::MapVector<StringRef, Type> inputs;
  forEachInput(module, [&](Operation *, StringRef name, Type type) {
    inputs.insert({name, type});
  });
  for (auto &[name, type] : inputs)
    description.inputs.push_back({name.str(), dtypeOf(elementOf(type)),
                                  shapeOf(type, description.maxRows),
                                  placeOf("input." + name)});

  description.weights = describeWeights(parameters);
  const Layers layers = Layers::of(module);
  for (const Parameter &p : parameters.trainable()) {
    std::optional<int64_t> layer =
        layers.numberOf(parameters.layers()[p.layer].prefix);
    description.trainableDtype = dtypeOf(parameters.thetaElement());
    description.trainables.push_back(
        {p.name, initOf(p.init), shapeOf(p.type, description.maxRows),
         static_cast<uint64_t>(p.offset), p.transposed,
         layer ? static_cast<uint32_t>(*layer) : HONE_NO_LAYER});
  }
  if (!isComplete)
    return failure();
  return description;
}

/// The identity of a run without its settings and data, which the runtime
/// knows.
static std::string identityJson(const ModelIdentity &model,
                                const std::string &layout,
                                const std::string &sourceHash) {
  IdentityFields fields = model.mathematics;
  fields["weights"] = sourceHash;
  fields["weights.layout"] = layout;
  std::string out = "{";
  for (const auto &[name, value] : fields)
    out += (out.size() > 1 ? "," : "") + rt::jsonString(name) + ":" +
           rt::jsonString(value);
  return out + "}";
}

/// The settings of `section`, and after them `more`, further members.
static std::string sectionJson(const Spec &spec, const char *section,
                               const std::string &more = "") {
  std::string out = specSectionJson(spec, section);
  out.insert(out.size() - 1, more);
  return rt::jsonString(section) + ":" + out;
}

/// The sections of all parts, in order, each with a comma after it.
static std::string partsJson(const Spec &spec) {
  std::string out;
  for (const auto &part : spec.parts)
    out += sectionJson(spec, part->section.c_str()) + ",";
  return out;
}

/// Whether an adapter is of a matrix that the files hold as PEFT's
/// fan_in_fan_out says.
static bool adaptsConv1d(const ParameterTable &parameters) {
  return llvm::any_of(parameters.frozen(), [&](const Parameter &p) {
    return p.transposed && parameters.find(moduleOf(p.name), ".lora_A.weight");
  });
}

static std::string stopTokensJson(const ModelIdentity &model) {
  std::string ids;
  for (int64_t id : model.stopTokens)
    ids += (ids.empty() ? "" : ",") + std::to_string(id);
  return ",\"eos_token_ids\":[" + ids + "]";
}

std::string hone::moduleConfigJson(const Spec &spec, const ModelIdentity &model,
                                   const ParameterTable &parameters,
                                   const MemoryPlan &plan,
                                   const std::string &sourceHash) {
  int64_t count = 0;
  for (const Parameter &p : parameters.frozen())
    count += p.type.getNumElements();
  for (const Parameter &p : parameters.trainable())
    count += p.type.getNumElements();

  std::string layout = layoutName(parameters.loaded());
  return "{\"model\":{\"name\":" + rt::jsonString(model.name) +
         ",\"model_type\":" + rt::jsonString(model.modelType) +
         ",\"parameters\":" + std::to_string(count) +
         ",\"vocab_size\":" + std::to_string(model.vocabSize) +
         ",\"identity\":" + identityJson(model, layout, sourceHash) + "}," +
         sectionJson(spec, "lora",
                     adaptsConv1d(parameters) ? ",\"fan_in_fan_out\":true"
                                              : "") +
         "," + sectionJson(spec, "train") + "," + partsJson(spec) +
         (spec.hasPrograms()
              ? sectionJson(spec, spec.exchange.name,
                            ",\"program\":" + rt::jsonString(spec.program)) +
                    ","
              : "") +
         sectionJson(spec, "weights",
                     ",\"layout\":" + rt::jsonString(layout) +
                         ",\"source_hash\":" + rt::jsonString(sourceHash)) +
         "," + sectionJson(spec, "generate", stopTokensJson(model)) + "," +
         sectionJson(spec, "target") + ",\"plan\":" + plan.json() + "}";
}
