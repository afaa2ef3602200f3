//===- StepSettingsTest.cpp - The settings for the passes of a step -------===//

#include "passes/methods/StepSettings.h"

#include "compiler/spec/Spec.h"
#include "dialects/Hone/HoneOps.h"

#include <gtest/gtest.h>

#include <type_traits>

using namespace hone;
using namespace mlir;

// A method says how it is checked, or it does not compile.
static_assert(!std::is_default_constructible_v<GradientCheck>);
static_assert(!std::is_default_constructible_v<Method>);

namespace {

class StepSettingsTest : public testing::Test {
protected:
  StepSettingsTest() {
    context.loadDialect<HoneDialect>();
    module = ModuleOp::create(UnknownLoc::get(&context));
  }

  static Spec specOf(const std::string &text) {
    auto spec = parseSpec("model: m\n" + text, "spec.yaml");
    EXPECT_TRUE(spec.isOk()) << spec.status().render();
    return spec.isOk() ? std::move(spec.value()) : Spec();
  }

  /// The passes' settings from `spec`.
  StepSettings pass(const Spec &spec) {
    StepSettings::write(spec, *module);
    auto read = StepSettings::read(*module);
    EXPECT_TRUE(succeeded(read));
    return succeeded(read) ? *read : StepSettings();
  }

  std::string problemOf(const StepSettings &settings, LayerCounts layers) {
    auto problem = findMethodProblem(
        settings, [&](const std::string &key) { return settings.isGiven(key); },
        [&](const rt::MethodSettings &) { return layers; });
    return problem ? problem->setting.key() + ": " + problem->problem : "";
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

TEST_F(StepSettingsTest, EveryNameOfTheListHasADescription) {
  for (const std::string &name : rt::methodNames())
    EXPECT_NE(findMethod(name), nullptr) << name;
  EXPECT_EQ(findMethod("none"), nullptr);
}

// The passes' settings are those of the spec, to the bit, and keep the rules:
// the driver and a module written by hand are judged alike.
TEST_F(StepSettingsTest, PassesHaveTheSettingsOfTheSpec) {
  for (const char *text :
       {"train: {optimizer: sgd, momentum: 0.1}",
        "train: {method: lcsb, selection_ratio: 0.3, selection_schedule: "
        "linear, selection_ratio_end: 0.7}",
        "train: {method: lcsb, selection: badam}",
        "train: {method: lcsb, selection: importance, selection_decay: 0.1}",
        "train: {method: mezo, directions: 3}", "train: {method: fgd}",
        "train: {method: fgd, direction_scales: [0=0.1, 2-3=0]}",
        "train: {compare: lcsb, selection: cyclic, selection_groups: 2}",
        "train: {optimizer_in_backward: true, loraplus_lr_ratio: 16}",
        "parts: {lower: {layers: 0-1, method: mezo}, upper: {method: lcsb}}",
        "train: {selection_warmup: 3, method: lcsb}\n"
        "parts: {lower: {layers: 0-1}, upper: {selection: lisa}}",
        "parts: {z: {layers: 0-1}, m: {layers: 2-3, method: fgd}, a: {}}"}) {
    Spec spec = specOf(text);
    StepSettings found = pass(spec);
    auto before = static_cast<const rt::Settings &>(spec).all();
    auto after = static_cast<const rt::Settings &>(found).all();
    for (size_t i = 0; i < before.size(); ++i)
      if (rt::Settings::isOfMethod(*before[i]) && spec.isRead(*before[i]) &&
          before[i]->setBy == rt::SetBy::Spec)
        EXPECT_EQ(before[i]->text(), after[i]->text())
            << text << ": " << before[i]->key();
    EXPECT_EQ(spec.hasParts(), found.hasParts()) << text;
    EXPECT_EQ(spec.train.compare.text(), found.train.compare.text()) << text;
    EXPECT_EQ(spec.train.optimizer_in_backward.text(),
              found.train.optimizer_in_backward.text())
        << text;
    EXPECT_EQ(problemOf(found, {8, 8}), "") << text;
  }
}

TEST_F(StepSettingsTest, RulesAboutTheModelAreThoseOfTheMethod) {
  StepSettings groups =
      pass(specOf("train: {method: lcsb, selection: cyclic}"));
  EXPECT_EQ(problemOf(groups, {8, 4}), "");
  EXPECT_EQ(problemOf(groups, {8, 3}),
            "train.selection_groups: expected at most 3, since that many "
            "layers train, but found 4");
  StepSettings scales =
      pass(specOf("train: {method: fgd, direction_scales: [7=0.5]}"));
  EXPECT_EQ(problemOf(scales, {8, 1}), "");
  EXPECT_EQ(problemOf(scales, {7, 7}),
            "train.direction_scales: expected layers up to 6, the last that "
            "method fgd trains, but found 7");
}
