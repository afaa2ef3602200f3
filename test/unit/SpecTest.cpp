//===- SpecTest.cpp - The meaning of a spec, and its errors ---------------===//

#include "compiler/spec/Spec.h"
#include "base/Json.h"
#include "passes/methods/StepSettings.h"

#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"

using namespace hone;
using rt::ErrorCode;

static Spec parsed(const std::string &text,
                   std::vector<std::string> overrides = {}) {
  rt::Result<Spec> spec =
      parseSpec(text, "dir/spec.yaml",
                std::vector<SpecOverride>(overrides.begin(), overrides.end()));
  EXPECT_TRUE(spec.isOk()) << spec.status().render();
  return spec.value();
}

TEST(Spec, DefaultsAreThoseOfPeftAndTransformers) {
  Spec spec = parsed("model: m\n");
  EXPECT_EQ(spec.lora.r, 8);
  EXPECT_EQ(spec.lora.lora_alpha, 8);
  EXPECT_EQ(spec.lora.target_modules,
            (std::vector<std::string>{"q_proj", "v_proj"}));
  EXPECT_EQ(spec.train.learning_rate, 5e-5);
  EXPECT_EQ(spec.train.lr_scheduler_type, "linear");
  EXPECT_EQ(spec.train.max_grad_norm, 1.0);
  EXPECT_EQ(spec.train.seed, 42);
  EXPECT_EQ(spec.target.triple, "native");
}

TEST(Spec, ModelIsRelativeToTheSpec) {
  EXPECT_EQ(parsed("model: m\n").model, "dir/m");
  EXPECT_EQ(parsed("model: /abs/m\n").model, "/abs/m");
  EXPECT_EQ(parsed("model: m\n", {"model=n"}).model, "n");
}

TEST(Spec, ReadsTheExampleOfTheReadme) {
  Spec spec =
      parsed("model: path/to/Qwen2.5-0.5B\n"
             "weights: {dtype: float32}\n"
             "lora: {r: 8, lora_alpha: 16, target_modules: all-linear, "
             "dtype: float32}\n"
             "train: {method: backprop, residuals: mesp, optimizer: adamw, "
             "batch_size: 1, max_seq_length: 256, learning_rate: 1e-4}\n"
             "target: native\n");
  EXPECT_EQ(spec.train.learning_rate, 1e-4);
  EXPECT_EQ(spec.loraScale(), 2.0);
  EXPECT_EQ(spec.maxRows(), 256);
}

TEST(Spec, OverridesComeLast) {
  Spec spec = parsed("model: m\ntrain: {seed: 1}\n",
                     {"train.seed=7", "lora.target_modules=[up_proj]",
                      "target=aarch64-linux-gnu"});
  EXPECT_EQ(spec.train.seed, 7);
  EXPECT_EQ(spec.lora.target_modules, std::vector<std::string>{"up_proj"});
  EXPECT_EQ(spec.target.triple, "aarch64-linux-gnu");
}

TEST(Spec, LoraNoneReplacesTheSection) {
  Spec spec = parsed("model: m\nlora: {r: 4, dtype: bfloat16}\n"
                     "weights: {dtype: bfloat16}\n",
                     {"lora=none"});
  EXPECT_TRUE(spec.lora.none);
  EXPECT_EQ(spec.given.count("lora.r"), 0u);
  // Trainable parameters have the type of the weights.
  EXPECT_EQ(spec.lora.dtype, "bfloat16");
  EXPECT_EQ(parsed("model: m\nlora: none\n").lora.dtype, "float32");
  EXPECT_EQ(parsed("model: m\nlora: none\nweights: {dtype: float32}\n"
                   "train: {compute_dtype: bfloat16}\n")
                .lora.dtype,
            "float32");
}

TEST(Spec, ElementTypesFollowComputeDtype) {
  Spec spec = parsed("model: m\ntrain: {compute_dtype: float64}\n");
  EXPECT_EQ(spec.weights.dtype, "float64");
  EXPECT_EQ(spec.lora.dtype, "float64");
}

TEST(Spec, BFloat16HasAFloat32Adapter) {
  Spec spec = parsed("model: m\ntrain: {compute_dtype: bfloat16}\n");
  EXPECT_EQ(spec.weights.dtype, "bfloat16");
  EXPECT_EQ(spec.lora.dtype, "float32");
  EXPECT_EQ(parsed("model: m\nlora: {dtype: bfloat16}\n"
                   "train: {compute_dtype: bfloat16}\n")
                .lora.dtype,
            "bfloat16");
  EXPECT_FALSE(spec.roundsProducts());
  spec.train.bfloat16_products = "pairs";
  EXPECT_TRUE(spec.roundsProducts());
}

TEST(Spec, StoredTypesGoWithAnyComputeDtype) {
  Spec spec = parsed("model: m\nweights: {dtype: int4, group_size: 128}\n"
                     "train: {compute_dtype: float64}\n");
  EXPECT_EQ(spec.weights.dtype, "int4");
  EXPECT_EQ(spec.weights.group_size, 128);
  EXPECT_EQ(spec.lora.dtype, "float64");
  EXPECT_EQ(parsed("model: m\nweights: {dtype: int8}\n").weights.group_size,
            64);
}

TEST(Spec, BudgetIsBytesOrNone) {
  auto budget = [](const char *text) {
    Spec spec = parsed("model: m\ntrain: {residuals: planned}\n",
                       {std::string("train.memory_budget=") + text});
    return std::pair(spec.train.memory_budget.kind(),
                     spec.train.memory_budget.bytes());
  };
  using Kind = rt::Budget::Kind;
  EXPECT_EQ(budget("45MiB"), std::pair(Kind::Bytes, int64_t(45) << 20));
  EXPECT_EQ(budget("1.5 GiB"), std::pair(Kind::Bytes, int64_t(3) << 29));
  EXPECT_EQ(budget("1000"), std::pair(Kind::Bytes, int64_t(1000)));
  EXPECT_EQ(budget("none").first, Kind::None);
  EXPECT_EQ(parsed("model: m\ntrain: {residuals: planned}\n")
                .train.memory_budget.kind(),
            Kind::Default);
}

// JSON and most writers of YAML quote "7MiB", and some of them "1e-4".
TEST(Spec, ReadsQuotedValuesAsPlainOnes) {
  const Spec plain = parsed(
      "model: m\nlora: {r: 4, use_rslora: true, rank_pattern: {q_proj: 2}}\n"
      "train: {residuals: planned, memory_budget: 7MiB, learning_rate: 1e-4,\n"
      "  steps: 3}\n"
      "target: x86_64\n");
  const Spec quoted = parsed(
      "{\"model\": \"m\", \"lora\": {\"r\": \"4\", \"use_rslora\": \"true\",\n"
      " \"rank_pattern\": {\"q_proj\": \"2\"}},\n"
      " \"train\": {\"residuals\": \"planned\", \"memory_budget\": \"7MiB\",\n"
      "  \"learning_rate\": '1e-4', \"steps\": \"3\"},\n"
      " \"target\": \"x86_64\"}\n");
  EXPECT_EQ(quoted.train.memory_budget.bytes(), int64_t(7) << 20);
  for (const char *section : {"lora", "train", "target"})
    EXPECT_EQ(specSectionJson(quoted, section),
              specSectionJson(plain, section));
}

TEST(Spec, RsloraScalesByTheRootOfTheRank) {
  EXPECT_EQ(parsed("model: m\nlora: {r: 16, lora_alpha: 8, use_rslora: true}\n")
                .loraScale(),
            2.0);
}

TEST(Spec, WeightsOfAnMlirModelMayBeElsewhere) {
  EXPECT_EQ(parsed("model: m.mlir\nweights: {path: w}\n").weights.path,
            "dir/w");
}

TEST(Spec, CopiesAreOfTheirOwn) {
  Spec spec = parsed("model: m\nlora: {r: 4, target_modules: [a]}\n");
  Spec copy = spec;
  copy.lora.r = 2;
  copy.lora.target_modules.push_back("b");
  EXPECT_EQ(spec.lora.r, 4);
  EXPECT_EQ(specSectionJson(spec, "lora").find("\"b\""), std::string::npos);
  EXPECT_NE(specSectionJson(copy, "lora").find("[\"a\",\"b\"]"),
            std::string::npos);
}

TEST(Spec, PartsHaveWhatTrainHasUnlessTheySayOtherwise) {
  Spec spec = parsed("model: m\n"
                     "train: {learning_rate: 1e-3, momentum: 0.5}\n"
                     "parts:\n"
                     "  lower: {layers: 0-2, method: mezo}\n"
                     "  upper: {optimizer: adamw, learning_rate: 2e-3}\n");
  EXPECT_TRUE(spec.hasParts());
  EXPECT_EQ(cutsOf(spec), std::vector<int64_t>{3});
  const rt::PartSettings &lower = spec.parts[0], &upper = spec.parts[1];
  EXPECT_EQ(lower.learning_rate, 1e-3);
  EXPECT_EQ(upper.learning_rate, 2e-3);
  EXPECT_EQ(lower.momentum, 0.5);
  // The defaults of the part's own method.
  EXPECT_EQ(lower.optimizer, "sgd");
  EXPECT_EQ(lower.lr_scheduler_type, "constant");
  EXPECT_EQ(upper.method, "backprop");
  EXPECT_EQ(upper.lr_scheduler_type, "linear");
  EXPECT_TRUE(spec.isRead(upper.max_grad_norm));
  EXPECT_FALSE(spec.isRead(lower.max_grad_norm));
  EXPECT_FALSE(spec.isRead(spec.train.learning_rate));
  EXPECT_TRUE(spec.isRead(spec.train.residuals));
  const Spec copy = spec;
  EXPECT_EQ(partOf(copy, copy.parts[1]), "upper");
  EXPECT_EQ(partOf(copy, spec.parts[1]), "");
}

// In any order in the file.
TEST(Spec, PartsAreInTheOrderOfTheirLayers) {
  Spec spec = parsed("model: m\n"
                     "parts:\n"
                     "  last: {}\n"
                     "  b: {layers: 3-3, method: mezo}\n"
                     "  a: {layers: 0-2, method: fgd}\n");
  ASSERT_EQ(spec.parts.size(), 3u);
  EXPECT_EQ(spec.parts[0].part, "a");
  EXPECT_EQ(spec.parts[1].part, "b");
  EXPECT_EQ(spec.parts[2].part, "last");
  EXPECT_EQ(cutsOf(spec), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(spec.parts[1].learning_rate.spelling(), "--b-learning-rate");
}

TEST(Spec, PartsLeaveNoLayerOutAndHaveNames) {
  auto problem = [](const std::string &parts) {
    return parseSpec("model: m\nparts: {" + parts + "}\n", "s.yaml")
        .status()
        .render();
  };
  auto has = [&](const std::string &parts, const std::string &text) {
    EXPECT_NE(problem(parts).find(text), std::string::npos) << problem(parts);
  };
  has("a: {layers: 0}, b: {layers: 2}, c: {}", "leaves layers out");
  has("a: {layers: 0-2}, b: {layers: 2}, c: {}", "overlaps with them");
  has("a: {layers: 0-2}, b: {}, c: {}", "parts.b.layers: the key is required");
  has("upper: {layers: 0-2}", "expected two parts or more");
  has("A: {layers: 0-2}, b: {}", "expected a name of at most 32 letters");
  has("method: mezo", "found a key of one");
  std::string many;
  // So many that comparing their keys would take minutes.
  for (int i = 0; i < 3000; ++i)
    many += "p" + std::to_string(i) + ": {layers: " + std::to_string(i) + "},";
  has(many, "parts: expected at most 64 parts but found more");
}

TEST(Spec, ALayerByItselfIsARange) {
  EXPECT_EQ(cutsOf(parsed("model: m\nparts: {lower: {layers: 0}}\n")),
            std::vector<int64_t>{1});
  EXPECT_FALSE(parsed("model: m\n").hasParts());
}

TEST(Spec, SectionsBecomeJson) {
  Spec spec = parsed("model: m\ntrain: {learning_rate: 1e-4}\n");
  std::string text = specSectionJson(spec, "train");
  rt::Result<rt::Json> json = rt::Json::parse(text, "train");
  ASSERT_TRUE(json.isOk()) << text;
  EXPECT_EQ(json.value().find("learning_rate")->number(), 1e-4);
  EXPECT_EQ(json.value().find("shuffle")->boolean(), true);
}

TEST(Spec, RefusesWhatAParserWouldNotEndOn) {
  std::string nul = std::string("a: \"\0\0M\"", 9); // found by a fuzzer
  EXPECT_FALSE(parseSpec(nul, "s", {}).isOk());
  EXPECT_FALSE(
      parseSpec(",{pproj *m;ojlora: &", "s", {}).isOk()); // so was this
  std::string large = "model: m\n" + std::string(1 << 16, '#');
  rt::Result<Spec> spec = parseSpec(large, "s", {});
  ASSERT_FALSE(spec.isOk());
  EXPECT_NE(spec.status().message().problem.find("at most 65536 bytes"),
            std::string::npos);
}

namespace {
struct BadSpec {
  const char *name;
  ErrorCode code;
  const char *text, *override;
  const char *place, *problem, *remedy;
};
} // namespace

class BadSpecTest : public testing::TestWithParam<BadSpec> {};

TEST_P(BadSpecTest, IsRefusedWithPlaceProblemAndRemedy) {
  const BadSpec &bad = GetParam();
  std::vector<SpecOverride> overrides;
  if (*bad.override)
    overrides.emplace_back(bad.override);
  rt::Result<Spec> spec = parseSpec(bad.text, "spec.yaml", overrides);
  ASSERT_FALSE(spec.isOk());
  EXPECT_EQ(spec.status().errorCode(), bad.code);
  const rt::Message &message = spec.status().message();
  EXPECT_EQ(message.place, bad.place);
  EXPECT_NE(message.problem.find(bad.problem), std::string::npos)
      << message.problem;
  EXPECT_NE(message.remedy.find(bad.remedy), std::string::npos)
      << message.remedy;
}

static const BadSpec badSpecs[] = {
    {"Empty", ErrorCode::BadSpec, "", "", "spec.yaml", "found nothing",
     "model: path"},
    {"NotAMapping", ErrorCode::BadSpec, "- a\n", "", "spec.yaml",
     "found a list", "model: path"},
    {"Syntax", ErrorCode::BadSpec, "model: [a\n", "", "spec.yaml:2:1",
     "syntax error", "--help-spec"},
    {"TwoDocuments", ErrorCode::BadSpec, "model: a\n---\nmodel: b\n", "",
     "spec.yaml", "2 documents", "model: path"},
    {"ControlCharacter", ErrorCode::BadSpec, "model: m\x01\n", "", "spec.yaml",
     "byte value 1 at offset 8", "is YAML"},
    {"NotUtf8", ErrorCode::BadSpec, "model: \xff\n", "", "spec.yaml",
     "byte value 255 at offset 7", "is YAML"},
    {"NoModel", ErrorCode::MissingKey, "train: {seed: 1}\n", "",
     "spec.yaml: model", "missing", "add: model"},
    {"UnknownSection", ErrorCode::UnknownKey, "model: m\ntrian: {seed: 1}\n",
     "", "spec.yaml:2:1: trian", "unknown key", "did you mean 'train'?"},
    {"UnknownKey", ErrorCode::UnknownKey,
     "model: m\ntrain: {learning_rat: 1}\n", "",
     "spec.yaml:2:9: train.learning_rat", "unknown key",
     "did you mean 'learning_rate'?"},
    {"DuplicateKey", ErrorCode::RepeatedKey, "model: m\nmodel: n\n", "",
     "spec.yaml:2:1: model", "appears twice; the first is on line 1",
     "remove one"},
    {"DuplicateNestedKey", ErrorCode::RepeatedKey,
     "model: m\nlora:\n  r: 1\n  r: 2\n", "", "spec.yaml:4:3: lora.r",
     "appears twice", "remove one"},
    {"WordForInteger", ErrorCode::BadSpecValue, "model: m\nlora: {r: eight}\n",
     "", "spec.yaml:2:11: lora.r",
     "expected an integer from 1 to 65536 but found 'eight'",
     "rank of each update"},
    {"QuotedWordForInteger", ErrorCode::BadSpecValue,
     "model: m\nlora: {r: \"eight\"}\n", "", "spec.yaml:2:11: lora.r",
     "expected an integer from 1 to 65536 but found 'eight'", "default is 8"},
    {"HexInteger", ErrorCode::BadSpecValue, "model: m\nlora: {r: 0x10}\n", "",
     "spec.yaml:2:11: lora.r",
     "expected an integer from 1 to 65536 but found '0x10'", "rank"},
    {"FractionForInteger", ErrorCode::BadSpecValue,
     "model: m\nlora: {r: 8.5}\n", "", "spec.yaml:2:11: lora.r",
     "expected an integer", "rank"},
    {"HugeInteger", ErrorCode::BadSpecValue,
     "model: m\ntrain: {seed: 99999999999999999999}\n", "",
     "spec.yaml:2:15: train.seed", "at most 9223372036854775807", "seed"},
    {"ZeroRank", ErrorCode::BadSpecValue, "model: m\nlora: {r: 0}\n", "",
     "spec.yaml:2:11: lora.r", "from 1 to 65536 but found '0'", "rank"},
    {"HugeRank", ErrorCode::BadSpecValue, "model: m\nlora: {r: 100000}\n", "",
     "spec.yaml:2:11: lora.r", "from 1 to 65536", "4 to 64"},
    {"NegativeRate", ErrorCode::BadSpecValue,
     "model: m\ntrain: {learning_rate: -1}\n", "",
     "spec.yaml:2:24: train.learning_rate", "at least 0", "peak"},
    {"NanRate", ErrorCode::BadSpecValue,
     "model: m\ntrain: {learning_rate: nan}\n", "",
     "spec.yaml:2:24: train.learning_rate", "expected a number", "peak"},
    {"BetaOfOne", ErrorCode::BadSpecValue, "model: m\ntrain: {adam_beta1: 1}\n",
     "", "spec.yaml:2:21: train.adam_beta1", "below 1", "first moment"},
    {"YesForTrue", ErrorCode::BadSpecValue,
     "model: m\nlora: {use_rslora: yes}\n", "",
     "spec.yaml:2:20: lora.use_rslora", "expected true or false", "scale"},
    {"NullValue", ErrorCode::BadSpecValue, "model: m\nlora: {r: }\n", "",
     "spec.yaml:2:11: lora.r", "found nothing", "rank"},
    {"ZeroByte", ErrorCode::BadSpecValue, "model: \"m\\0n\"\n", "",
     "spec.yaml:1:8: model", "expected a path but found 'm", "folder"},
    {"ZeroByteInAList", ErrorCode::BadSpecValue,
     "model: m\nlora: {target_modules: [\"q\\0\"]}\n", "",
     "spec.yaml:2:25: lora.target_modules", "expected a word", "modules"},
    {"UnsupportedDtype", ErrorCode::UnsupportedValue,
     "model: m\nweights: {dtype: float16}\n", "",
     "spec.yaml:2:18: weights.dtype", "'float16' is not supported yet",
     "float32, float64"},
    {"GroupSize", ErrorCode::BadSpecValue,
     "model: m\nweights: {dtype: int4, group_size: 48}\n", "",
     "spec.yaml: weights.group_size", "expected 32, 64 or 128 but found 48",
     "64"},
    {"GroupsOfFloats", ErrorCode::KeysDisagree,
     "model: m\nweights: {dtype: bfloat16, group_size: 32}\n", "",
     "spec.yaml: weights.group_size", "only weights.dtype int8 and int4",
     "remove weights.group_size"},
    {"WeightsDisagree", ErrorCode::KeysDisagree,
     "model: m\nweights: {dtype: float64}\ntrain: {compute_dtype: float32}\n",
     "", "spec.yaml: weights.dtype", "expected float32",
     "leave weights.dtype out"},
    {"UnknownMethod", ErrorCode::BadSpecValue,
     "model: m\ntrain: {method: hosl}\n", "", "spec.yaml:2:17: train.method",
     "one of backprop, lcsb, mezo", "one of: backprop, lcsb"},
    {"SettingOfOtherMethod", ErrorCode::KeysDisagree,
     "model: m\ntrain: {method: mezo, residuals: full}\n", "",
     "spec.yaml: train.residuals",
     "only methods backprop and lcsb read it, but method is mezo",
     "remove train.residuals, or set train.method to backprop"},
    {"TooManyDirections", ErrorCode::BadSpecValue,
     "model: m\ntrain: {method: mezo, directions: 2048}\n", "",
     "spec.yaml:2:35: train.directions", "from 1 to 2047", ""},
    {"UnknownOptimizer", ErrorCode::BadSpecValue,
     "model: m\ntrain: {optimizer: adamv}\n", "",
     "spec.yaml:2:20: train.optimizer", "one of adamw, sgd, lion, adamw-8bit",
     "did you mean 'adamw'?"},
    {"SinkgdOfAdapters", ErrorCode::KeysDisagree,
     "model: m\ntrain: {optimizer: sinkgd}\n", "", "spec.yaml: train.optimizer",
     "sinkgd is of whole weights", "set lora: none"},
    {"MatricesAlongDirections", ErrorCode::KeysDisagree,
     "model: m\ntrain: {optimizer: adafactor, method: mezo}\n", "",
     "spec.yaml: train.optimizer", "which mezo has in no memory",
     "set train.optimizer to sgd"},
    {"RegexTargets", ErrorCode::UnsupportedValue,
     "model: m\nlora: {target_modules: '.*_proj'}\n", "",
     "spec.yaml:2:24: lora.target_modules", "all-linear or a list",
     "regular expression"},
    {"NoTargets", ErrorCode::BadSpecValue,
     "model: m\nlora: {target_modules: []}\n", "",
     "spec.yaml:2:24: lora.target_modules", "at least one", "all-linear"},
    {"TargetTwice", ErrorCode::RepeatedKey,
     "model: m\nlora: {target_modules: [a, a]}\n", "",
     "spec.yaml:2:28: lora.target_modules", "appears twice", "remove"},
    {"RankOfNothing", ErrorCode::BadSpecValue,
     "model: m\nlora: {rank_pattern: {q_proj: }}\n", "",
     "spec.yaml:2:31: lora.rank_pattern",
     "expected an integer from 1 to 65536 for 'q_proj' but found nothing",
     "rank_pattern"},
    {"FractionForRank", ErrorCode::BadSpecValue,
     "model: m\nlora: {rank_pattern: {q_proj: 2.5}}\n", "",
     "spec.yaml:2:31: lora.rank_pattern", "expected an integer",
     "rank_pattern"},
    {"ListForPattern", ErrorCode::BadSpecValue,
     "model: m\nlora: {alpha_pattern: [q_proj]}\n", "",
     "spec.yaml:2:23: lora.alpha_pattern", "expected a mapping", "lora_alpha"},
    {"PatternTwice", ErrorCode::RepeatedKey,
     "model: m\nlora: {rank_pattern: {q: 1, q: 2}}\n", "",
     "spec.yaml:2:29: lora.rank_pattern", "'q' appears twice", "remove"},
    {"PatternOfPython", ErrorCode::BadSpecValue,
     "model: m\nlora: {rank_pattern: {'layers\\.\\d+': 1}}\n", "",
     "spec.yaml: lora.rank_pattern", "has '\\d', which is none of",
     "layers.0.self_attn.q_proj"},
    {"PatternUnclosed", ErrorCode::BadSpecValue,
     "model: m\nlora: {alpha_pattern: {'(q': 1}}\n", "",
     "spec.yaml: lora.alpha_pattern", "is no regular expression", ""},
    {"LayersOfWords", ErrorCode::BadSpecValue,
     "model: m\nlora: {layers_to_transform: [first]}\n", "",
     "spec.yaml: lora.layers_to_transform", "such as 3 or 0-4", "from 0"},
    {"LoraplusOfNoAdapter", ErrorCode::KeysDisagree,
     "model: m\nlora: none\ntrain: {loraplus_lr_ratio: 16}\n", "",
     "spec.yaml: train.loraplus_lr_ratio", "only B of adapters", "remove"},
    {"DropoutWithDora", ErrorCode::KeysDisagree,
     "model: m\nlora: {use_dora: true, lora_dropout: 0.1}\n", "",
     "spec.yaml: lora.lora_dropout", "expected 0 with use_dora", "remove"},
    {"ScalarSection", ErrorCode::BadSpecValue, "model: m\nlora: 8\n", "",
     "spec.yaml:2:7: lora", "expected a mapping", "its keys: r, lora_alpha"},
    {"DottedKeyInFile", ErrorCode::UnknownKey, "model: m\ntrain.seed: 1\n", "",
     "spec.yaml:2:1: train.seed", "unknown key", "--set"},
    {"DtypesDisagree", ErrorCode::KeysDisagree,
     "model: m\nlora: {dtype: float32}\ntrain: {compute_dtype: float64}\n", "",
     "spec.yaml: lora.dtype", "expected float64", "leave lora.dtype out"},
    {"WeightsOfBFloat16", ErrorCode::KeysDisagree,
     "model: m\nweights: {dtype: float32}\ntrain: {compute_dtype: bfloat16}\n",
     "", "spec.yaml: weights.dtype", "expected bfloat16",
     "leave weights.dtype out"},
    {"AdapterOfBFloat16", ErrorCode::KeysDisagree,
     "model: m\nlora: {dtype: float64}\ntrain: {compute_dtype: bfloat16}\n", "",
     "spec.yaml: lora.dtype", "expected float32", "leave lora.dtype out"},
    {"KeptDtypeOfBFloat16", ErrorCode::KeysDisagree,
     "model: m\ntrain: {compute_dtype: bfloat16, kept_dtype: float32}\n", "",
     "spec.yaml: train.kept_dtype", "bfloat16 already", "remove"},
    {"KeptDtypeOfFloat64", ErrorCode::KeysDisagree,
     "model: m\ntrain: {compute_dtype: float64, kept_dtype: bfloat16}\n", "",
     "spec.yaml: train.kept_dtype", "compute_dtype is float64", "remove"},
    {"ExchangeOfFloat64", ErrorCode::KeysDisagree,
     "model: m\ntrain: {compute_dtype: float64}\nparts:\n"
     "  lower: {layers: 0-1, program: a}\n  upper: {program: b}\n"
     "exchange: {dtype: bfloat16}\n",
     "", "spec.yaml: exchange.dtype", "compute_dtype is float64", "remove"},
    {"OffloadingToPlanWithoutBudget", ErrorCode::KeysDisagree,
     "model: m\ntrain: {activation_offloading: planned}\n", "",
     "spec.yaml: train.activation_offloading", "needs residuals planned",
     "set train.memory_budget"},
    {"OffloadingOfMezo", ErrorCode::KeysDisagree,
     "model: m\ntrain: {method: mezo, activation_offloading: true}\n", "",
     "spec.yaml: train.activation_offloading", "method is mezo", "remove"},
    {"PrecisionOfBFloat16", ErrorCode::KeysDisagree,
     "model: m\ntrain: {compute_dtype: bfloat16, float32_matmul_precision: "
     "highest}\n",
     "", "spec.yaml: train.float32_matmul_precision", "only float32 products",
     "train.bfloat16_products"},
    {"BFloat16ProductsOfFloat32", ErrorCode::KeysDisagree,
     "model: m\ntrain: {bfloat16_products: pairs}\n", "",
     "spec.yaml: train.bfloat16_products", "compute_dtype is float32",
     "set train.compute_dtype to bfloat16"},
    {"ClippingInTheBackward", ErrorCode::KeysDisagree,
     "model: m\ntrain: {optimizer_in_backward: true, max_grad_norm: 1}\n", "",
     "spec.yaml: train.max_grad_norm", "expected 0", "leave"},
    {"AccumulationInTheBackward", ErrorCode::KeysDisagree,
     "model: m\ntrain: {optimizer_in_backward: true, "
     "gradient_accumulation_steps: 2}\n",
     "", "spec.yaml: train.gradient_accumulation_steps", "expected 1",
     "batch_size"},
    {"MomentumOfAdam", ErrorCode::KeysDisagree,
     "model: m\ntrain: {momentum: 0.9}\n", "", "spec.yaml: train.momentum",
     "only optimizer sgd", "set train.optimizer"},
    {"EpsilonOfSgd", ErrorCode::KeysDisagree,
     "model: m\ntrain: {optimizer: sgd, adam_epsilon: 1e-9}\n", "",
     "spec.yaml: train.adam_epsilon",
     "only optimizers adamw and adamw-8bit read it",
     "remove train.adam_epsilon"},
    {"BetaOfSgd", ErrorCode::KeysDisagree,
     "model: m\ntrain: {optimizer: sgd, adam_beta2: 0.9}\n", "",
     "spec.yaml: train.adam_beta2",
     "only optimizers adamw and adamw-8bit read it",
     "set train.optimizer to adamw"},
    {"StepsAndEpochs", ErrorCode::KeysDisagree,
     "model: m\ntrain: {epochs: 2, steps: 9}\n", "", "spec.yaml: train.epochs",
     "already says how long", "one of the two"},
    {"WeightsOfADirectory", ErrorCode::KeysDisagree,
     "model: m\nweights: {path: other}\n", "", "spec.yaml: weights.path",
     "only an .mlir model", "has its own"},
    {"NoTokenToPredict", ErrorCode::BadSpecValue,
     "model: m\ntrain: {max_seq_length: 1}\n", "",
     "spec.yaml:2:25: train.max_seq_length", "from 2 to", "most tokens"},
    {"PrecisionOfFloat64", ErrorCode::KeysDisagree,
     "model: m\ntrain: {compute_dtype: float64, float32_matmul_precision: "
     "medium}\n",
     "", "spec.yaml: train.float32_matmul_precision", "only float32 products",
     "remove"},
    {"SelectionOfBackprop", ErrorCode::KeysDisagree,
     "model: m\ntrain: {selection_ratio: 0.5}\n", "",
     "spec.yaml: train.selection_ratio", "only method lcsb reads it",
     "set train.method to lcsb"},
    {"NothingSelected", ErrorCode::BadSpecValue,
     "model: m\ntrain: {method: lcsb, selection_ratio: 0}\n", "",
     "spec.yaml:2:40: train.selection_ratio",
     "a number greater than 0 and at most 1", "rounded up"},
    {"MoreThanAllSelected", ErrorCode::BadSpecValue,
     "model: m\ntrain: {method: lcsb, selection_ratio: 1.5}\n", "",
     "spec.yaml:2:40: train.selection_ratio",
     "a number greater than 0 and at most 1", "rounded up"},
    {"ResidualsOfSelected", ErrorCode::KeysDisagree,
     "model: m\ntrain: {method: lcsb, residuals: full}\n", "",
     "spec.yaml: train.residuals", "expected mesp or planned", "leave"},
    {"RatioOfGroups", ErrorCode::KeysDisagree,
     "model: m\ntrain: {method: lcsb, selection: cyclic, selection_ratio: "
     "0.5}\n",
     "", "spec.yaml: train.selection_ratio", "has groups instead",
     "selection_groups: 2 selects half"},
    {"GroupsOfUniform", ErrorCode::KeysDisagree,
     "model: m\ntrain: {method: lcsb, selection_groups: 2}\n", "",
     "spec.yaml: train.selection_groups", "selection is uniform",
     "set train.selection to cyclic"},
    {"UnknownSelection", ErrorCode::BadSpecValue,
     "model: m\ntrain: {method: lcsb, selection: importnce}\n", "",
     "spec.yaml:2:34: train.selection", "expected one of uniform, bernoulli",
     ""},
    {"ScalesOutOfOrder", ErrorCode::BadSpecValue,
     "model: m\ntrain: {method: fgd, direction_scales: [4-9=0.5, 2=1]}\n", "",
     "spec.yaml: train.direction_scales",
     "expected layers after 9 but found '2=1'", "counted from 0"},
    {"ScaleAboveOne", ErrorCode::BadSpecValue,
     "model: m\ntrain: {method: fgd, direction_scales: [4-9=1.5]}\n", "",
     "spec.yaml: train.direction_scales", "a scale from 0 to 1",
     "counted from 0"},
    {"ScalesOfBackprop", ErrorCode::KeysDisagree,
     "model: m\ntrain: {direction_scales: [4-9=0.5]}\n", "",
     "spec.yaml: train.direction_scales", "only method fgd reads it", "remove"},
    {"StepsWithoutScales", ErrorCode::KeysDisagree,
     "model: m\ntrain: {method: fgd, direction_scale_steps: 5}\n", "",
     "spec.yaml: train.direction_scale_steps", "but there are none",
     "train.direction_scales"},
    {"BudgetWithoutPlan", ErrorCode::KeysDisagree,
     "model: m\ntrain: {residuals: mesp, memory_budget: 45MiB}\n", "",
     "spec.yaml: train.memory_budget", "only residuals planned",
     "set train.residuals"},
    {"BudgetInOtherUnits", ErrorCode::BadSpecValue,
     "model: m\ntrain: {residuals: planned, memory_budget: 45MB}\n", "",
     "spec.yaml:2:44: train.memory_budget", "KiB, MiB and GiB", "45MiB"},
    {"BudgetOfNothing", ErrorCode::BadSpecValue,
     "model: m\ntrain: {residuals: planned, memory_budget: 0}\n", "",
     "spec.yaml:2:44: train.memory_budget", "such as 45MiB", "45MiB"},
    {"BudgetOfTwoUnits", ErrorCode::BadSpecValue,
     "model: m\ntrain: {residuals: planned, memory_budget: 8GiBMiB}\n", "",
     "spec.yaml:2:44: train.memory_budget", "KiB, MiB and GiB", "45MiB"},
    {"BudgetBelowAByte", ErrorCode::BadSpecValue,
     "model: m\ntrain: {residuals: planned, memory_budget: 0.5}\n", "",
     "spec.yaml:2:44: train.memory_budget", "such as 45MiB", "45MiB"},
    {"TooManyRows", ErrorCode::TooManyRows,
     "model: m\ntrain: {batch_size: 100000, max_seq_length: 100000}\n", "",
     "spec.yaml: train.batch_size", "100000 x 100000",
     "gradient_accumulation_steps"},
    {"OverrideWithoutValue", ErrorCode::BadSpec, "model: m\n", "train.seed",
     "--set train.seed", "expected section.key=value", "for example"},
    {"OverrideOfUnknownKey", ErrorCode::UnknownKey, "model: m\n",
     "train.sede=1", "--set train.sede=1: train.sede", "unknown key",
     "did you mean 'seed'?"},
    {"OverrideThatEndsInAColon", ErrorCode::BadSpecValue, "model: m\n",
     "target=nvptx64-nvidia-cuda:", "--set target=nvptx64-nvidia-cuda:: target",
     "expected something after the colon of 'nvptx64-nvidia-cuda:' but found "
     "nothing",
     "leave the colon out"},
    {"OverrideOfWrongType", ErrorCode::BadSpecValue, "model: m\n",
     "train.seed=x", "--set train.seed=x: train.seed", "expected an integer",
     "seed"},
};

INSTANTIATE_TEST_SUITE_P(Spec, BadSpecTest, testing::ValuesIn(badSpecs),
                         [](const auto &info) { return info.param.name; });
