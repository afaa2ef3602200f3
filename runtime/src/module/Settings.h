//===- Settings.h - Every setting of a training run -----------------------===//
//
// The one table. The spec's reader and its help, the configuration in the
// binary, the program's options and their help, and the identity of a run all
// walk it: adding a setting is one declaration here and its use; those that a
// method reads are in passes/methods. Rules between keys are in
// compiler/rules/SpecRules.cpp, of a method's keys with the method.
//
// Names, meanings and defaults of lora and train are those of PEFT's LoraConfig
// and Transformers' TrainingArguments where these have them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/methods/MethodSettings.h"

#include <memory>

namespace hone::rt {

// A declaration would become a line for each word.
// clang-format off

struct WeightSettings : Section {
  WeightSettings() : Section("weights") {}
  WeightSettings(const WeightSettings &o) : WeightSettings() { *this = o; }
  WeightSettings &operator=(const WeightSettings &) = default;

  Word dtype{*this, "dtype", "float32", Bits::Run, SetBy::Spec,
      "element type in which frozen matrices are stored; default: "
      "train.compute_dtype, or the model's own if it is quantised",
      {{"float32", "float64", "bfloat16",
      "int8", "int4"}, {"float16"}}};
  Integer group_size{*this, "group_size", 64, Bits::Run, SetBy::Spec,
      "how many weights of int8 or int4 share a scale: 32, 64 or 128",
      from(32, 128)};
  Word path{*this, "path", "", Bits::None, SetBy::Spec,
      "weights of an .mlir model: a safetensors file or a folder; default: "
      "model.safetensors beside the model", aFile};
  Word streaming{*this, "streaming", "false", Bits::None, SetBy::Spec,
      "release the memory of a layer's weights after the layer has run, and "
      "read the next layer's early; planned: only if train.resident_budget "
      "needs it",
      {{"false", "true", "planned"}}};
  /// The module names its trained tensors, so a run's identity has it.
  Truth untie{*this, "untie", false, Bits::None, SetBy::Spec,
      "with lora: none, train a head and an embedding that share one table as "
      "two tables, which begin equal; the result is no longer tied"};
};

struct LoraSettings : Section {
  LoraSettings() : Section("lora") {}
  LoraSettings(const LoraSettings &o) : LoraSettings() { *this = o; }
  LoraSettings &operator=(const LoraSettings &) = default;

  Integer r{*this, "r", 8, Bits::Run, SetBy::Spec,
      "rank of each update; 4 to 64 are common", from(1, 65536)};
  Real lora_alpha{*this, "lora_alpha", 8, Bits::Run, SetBy::Spec,
      "numerator of the scale of each update, lora_alpha / r", positive};
  Words target_modules{*this, "target_modules", {"q_proj", "v_proj"}, Bits::Run,
      SetBy::Spec,
      "modules that get an adapter: all-linear, or a list of names"};
  NamedNumbers rank_pattern{*this, "rank_pattern", Bits::Run, SetBy::Spec,
      "ranks of modules whose rank is not r, as in {\"layers.0.*\": 16}; a key "
      "is a regular expression for the path of a module, or for its end after a "
      "dot",
      from(1, 65536), /*isWhole=*/true};
  NamedNumbers alpha_pattern{*this, "alpha_pattern", Bits::Run, SetBy::Spec,
      "lora_alpha of single modules, written like rank_pattern",
      positive, /*isWhole=*/false};
  Words layers_to_transform{*this, "layers_to_transform", {}, Bits::Run,
      SetBy::Spec,
      "layers whose modules get an adapter, counted from 0, as in [0, 20-23]; "
      "default: all"};
  Truth use_dora{*this, "use_dora", false, Bits::Run, SetBy::Spec,
      "DoRA: train a magnitude for each output apart from its direction; "
      "derivatives treat the length of the direction as constant"};
  Truth use_rslora{*this, "use_rslora", false, Bits::Run, SetBy::Spec,
      "scale by lora_alpha / sqrt(r) in place of lora_alpha / r"};
  Word dtype{*this, "dtype", "float32", Bits::Run, SetBy::Spec,
      "element type of the adapter; bfloat16 is rounded stochastically at each "
      "update, and its gradients and optimizer state are float32", {{"float32",
      "float64", "bfloat16"}, {"float16"}}};
  Real lora_dropout{*this, "lora_dropout", 0, Bits::Run, SetBy::Spec,
      "probability with which training drops each element that an adapter "
      "reads; frozen weights read all of them", below(1)};
  Words modules_to_save{*this, "modules_to_save", {}, Bits::Run, SetBy::Spec,
      "modules that train in full beside the adapters and are saved with them: "
      "linear modules without an adapter, norms, embed_tokens, lm_head"};
  Word bias{*this, "bias", "none", Bits::Run, SetBy::Spec,
      "which biases of the model train: none, all, or those of modules with an "
      "adapter (lora_only)", {{"none", "all", "lora_only"}}};
  /// In a binary: the value of the adapter's config.
  Word base_model_name_or_path{*this, "base_model_name_or_path", "", Bits::None,
      SetBy::Spec,
      "name of the model in adapter_config.json, such as Qwen/Qwen2.5-0.5B; "
      "default: the name on the Hub in config.json, or the name of the model's "
      "folder", aText};
  Truth none{*this, "none", false, Bits::Run, SetBy::Spec,
      "train all parameters without an adapter, so that the result is a whole "
      "model; written as lora: none"};
};

struct TrainSettings : MethodSettings {
  TrainSettings() : Section("train") {}

  Word residuals{*this, "residuals", "planned", Bits::None, SetBy::Spec,
      "values that a layer keeps from its forward for its backward: its input "
      "(mesp), also LoRA's h = xA (store-h), its input, from which the whole "
      "layer runs again (mebp), everything the backward reads (full), or as "
      "much as train.memory_budget allows (planned)",
      {{"mesp", "store-h", "mebp", "full", "planned"}},
      methodsOf(MethodKind::Backward)};
  Budget memory_budget{*this, "memory_budget", Bits::None, SetBy::Spec,
      "for residuals: planned, the most anonymous memory that the process may "
      "take, as in 45MiB; none: the fastest step; default: the smallest peak "
      "that costs at most 5 % of mesp's time"};
  Budget resident_budget{*this, "resident_budget", Bits::None, SetBy::Spec,
      "for residuals: planned, the most resident memory, which includes the "
      "mapped weights, the program and its libraries"};
  /// In a binary: the values that are kept rounded.
  Word kept_dtype{*this, "kept_dtype", "float32", Bits::Numerics, SetBy::Spec,
      "element type in which residuals: planned may keep values of layers if "
      "the budget needs it; bfloat16 changes gradients",
      {{"float32", "bfloat16"}},
      Readers::ofTrainingAlone({"backprop"})};
  Word activation_offloading{*this, "activation_offloading", "false",
      Bits::None, SetBy::Spec,
      "values that layers leave for the backward rest in a file beside the run, "
      "which writes and reads as many bytes in each batch as the plan says; "
      "planned: as many as make the step fastest within train.memory_budget",
      {{"false", "true", "planned"}},
      Readers::ofTrainingAlone({"backprop"})};
  Word compare{*this, "compare", "none", Bits::None, SetBy::Spec,
      "a second method, whose gradient is compared with the run's in "
      "compare.jsonl, a table and report.html; it reads the same keys of train "
      "and does not change the run", {methodNames("none")}};
  Integer compare_every{*this, "compare_every", 10, Bits::None, SetBy::Option,
      "compare at every N-th step, beginning with the first", from(1, 1 << 24)};
  Truth optimizer_in_backward{*this, "optimizer_in_backward", false,
      Bits::None, SetBy::Spec,
      "update each layer right after its backward, so that gradients of only "
      "one layer exist at a time; there is no max_grad_norm then", {},
      Readers::ofTrainingAlone(methodsOf(MethodKind::Backward))};
  Integer modules{*this, "modules", 1, Bits::None, SetBy::Spec,
      "cut the model into so many modules, each of which is a program, "
      "DIR/moduleN/train, that trains together with the others'",
      from(1, 64), Readers::ofTrainingAlone({"fgd"})};
  /// In a binary: where the model is cut.
  Words module_cuts{*this, "module_cuts", {}, Bits::RunUnlessStandard,
      SetBy::Spec,
      "how many layers are below each cut between modules, as in [6, 14]; "
      "default: cuts with which the slowest module is the fastest, by "
      "estimates", Readers::ofTrainingAlone({"fgd"})};
  Truth asynchronous{*this, "asynchronous", false, Bits::RunUnlessStandard,
      SetBy::Spec,
      "AsyncFGD: no module waits for the derivative of its own step; one that is "
      "d modules below the last makes the update of d steps ago", {},
      Readers::ofTrainingAlone({"fgd"})};
  Truth data_parallel{*this, "data_parallel", false, Bits::None, SetBy::Spec,
      "several programs that mpirun starts, each a rank, may share the batches "
      "of a step, and have the bits of one"};
  Integer batch_size{*this, "batch_size", 1, Bits::Run, SetBy::Bound,
      "most sequences in a batch", from(1, 1 << 24)};
  Integer max_seq_length{*this, "max_seq_length", 256, Bits::Run, SetBy::Bound,
      "most tokens in a sequence", from(2, 1 << 24)};
  /// Only a program that is compiled with one knows tasks.
  Word task{*this, "task", "none", Bits::Run, SetBy::Option,
      "the data is a task of GLUE or SuperGLUE, with MeZO's prompts; the loss "
      "counts the label's words, and evaluations report an accuracy",
      {{"none", "sst2", "rte",
      "cb", "boolq", "wic", "wsc"}}};
  /// Part of a run's identity only if its rates depend on it: see identityOf.
  Integer steps{*this, "steps", 0, Bits::None, SetBy::Option,
      "number of updates; 0: epochs decides", counts};
  Integer epochs{*this, "epochs", 1, Bits::None, SetBy::Option,
      "number of passes over the data, if steps is 0", from(1, 0x1p53)};
  Integer gradient_accumulation_steps{*this, "gradient_accumulation_steps", 1,
      Bits::Run, SetBy::Option,
      "batches whose gradients are added for each update", from(1, 1 << 20)};
  Integer seed{*this, "seed", 42, Bits::Run, SetBy::Option,
      "seed of the adapter's first values, the order of the data, dropout and "
      "noise",
      notNegative};
  Truth shuffle{*this, "shuffle", true, Bits::Run, SetBy::Option,
      "put the data into a new order in each epoch"};
  Integer save_every{*this, "save_every", 500, Bits::None, SetBy::Option,
      "save a checkpoint every N steps; 0: only after the last", counts};
  Integer save_total_limit{*this, "save_total_limit", 2, Bits::None,
      SetBy::Option,
      "keep the newest N checkpoints and the best one; 0: keep all", counts};
  Real neftune_noise_alpha{*this, "neftune_noise_alpha", 0, Bits::Run,
      SetBy::Spec,
      "noise that training adds to embeddings, uniform in +- this / sqrt(tokens "
      "of the sequence x hidden size); 5 to 15 are common; 0: none",
      notNegative};
  Real label_smoothing_factor{*this, "label_smoothing_factor", 0, Bits::Run,
      SetBy::Spec,
      "part of each label that is spread over the whole vocabulary in the "
      "training loss; evaluations use the plain loss", below(1)};
  Word compute_dtype{*this, "compute_dtype", "float32", Bits::Run, SetBy::Spec,
      "element type of activations and of their cotangents; with bfloat16, "
      "sums, statistics, gradients and the optimizer stay float32; float64 is "
      "for tests", {{"float32", "bfloat16", "float64"}, {"float16"}}};
  /// In a binary of bfloat16: the chosen ones.
  Word bfloat16_products{*this, "bfloat16_products", "auto", Bits::Numerics,
      SetBy::Spec,
      "with compute_dtype bfloat16, how products with weights, in attention "
      "and, with lora.dtype bfloat16, an adapter's h = x A^T and u = dy B "
      "multiply: pairs rounds all operands to bfloat16 and multiplies two at "
      "once; widened converts bfloat16 to float32 without loss; auto takes the "
      "faster one on target.cpu", {{"auto", "pairs",
      "widened"}}};
  Word float32_matmul_precision{*this, "float32_matmul_precision", "highest",
      Bits::Numerics, SetBy::Spec,
      "operands of float32 products with weights and in attention, as in "
      "PyTorch: float32 (highest), or rounded to bfloat16 with float32 sums "
      "(medium)", {{"highest", "medium"}, {"high"}}};
};

/// The name of a part, which outlives the section that has it.
struct PartName {
  explicit PartName(const std::string &part)
      : part(part), section("parts." + part), prefix(part + ".") {}
  PartName(const PartName &) = delete;
  PartName &operator=(const PartName &) { return *this; }

  const std::string part;    ///< "lower"
  const std::string section; ///< "parts.lower"
  const std::string prefix;  ///< of its names in a step: "lower."
};

/// Layers that have a method of their own. Missing keys are as in train.
struct PartSettings : virtual PartName, MethodSettings {
  explicit PartSettings(const std::string &part)
      : PartName(part), Section(section.c_str()) {}
  PartSettings &operator=(const PartSettings &) = default;

  Word layers{*this, "layers", "", Bits::Run, SetBy::Spec,
      "layers with a method of their own, counted from 0, as in 0-4; keys of "
      "train that belong to the method may stand beside it, and others are as "
      "in train; the last part may leave it out"};
  Word program{*this, "program", "", Bits::None, SetBy::Spec,
      "compile these layers into a program of their own, DIR/NAME/train, which "
      "trains together with the others'; all parts have one, or none"};
  Word target{*this, "target", "", Bits::Numerics, SetBy::Spec,
      "target of the part's program, in place of target: a triple, or "
      "TRIPLE:CPU, as in --target; a run of programs for several targets has "
      "bits of its own"};
};

/// Parts by name, in the order of their layers once these are known.
class PartList {
public:
  using Owned = std::vector<std::unique_ptr<PartSettings>>;

  PartList() = default;
  PartList(const PartList &other) { *this = other; }
  PartList &operator=(const PartList &other);

  /// There is none of this name yet.
  PartSettings &add(const std::string &name);
  /// Null: there is none.
  PartSettings *find(std::string_view name) const;

  bool empty() const { return all.empty(); }
  size_t size() const { return all.size(); }
  PartSettings &operator[](size_t index) const { return *all[index]; }
  PartSettings &back() const { return *all.back(); }
  Owned::const_iterator begin() const { return all.begin(); }
  Owned::const_iterator end() const { return all.end(); }
  Owned::iterator begin() { return all.begin(); } // to be put in order
  Owned::iterator end() { return all.end(); }

private:
  Owned all;
};

/// Learning rates by their parts' names.
using PartRates = std::vector<std::pair<std::string, double>>;

/// Between programs of one model.
struct ExchangeSettings : Section {
  ExchangeSettings() : Section("exchange") {}

  Word dtype{*this, "dtype", "float32", Bits::Run, SetBy::Spec,
      "element type in which float32 hidden states, cotangents and tangents "
      "cross from one program to the other", {{"float32", "bfloat16"}}};
  Integer in_flight{*this, "in_flight", 1, Bits::None, SetBy::Spec,
      "probes or batches that are under way at once between programs; more "
      "hides the way there and back, takes more memory, and changes no bit",
      from(1, 64)};
};

/// Settings of the program that generates text.
struct GenerateSettings : Section {
  GenerateSettings() : Section("generate") {}
  GenerateSettings(const GenerateSettings &o) : GenerateSettings() { *this = o; }
  GenerateSettings &operator=(const GenerateSettings &) = default;

  /// In a binary: the number that 0 stood for.
  Integer max_length{*this, "max_length", 0, Bits::None, SetBy::Spec,
      "most tokens of a text with its prompt; their keys and values have memory "
      "from the start; 0: train.max_seq_length, or 1024 if that is larger and "
      "the model has that many positions", from(0, 1 << 24)};
  Integer prompt_rows{*this, "prompt_rows", 64, Bits::None, SetBy::Spec,
      "tokens of a prompt that are computed together; more is faster, takes "
      "more memory, and changes the text by rounding only", from(1, 1 << 16)};
};

/// In a binary: the target that these name.
struct TargetSettings : Section {
  TargetSettings() : Section("target") {}

  Word triple{*this, "triple", "native", Bits::Numerics, SetBy::Spec,
      "native, reference, or an LLVM target triple"};
  /// Its features are those that the code may use.
  Word cpu{*this, "cpu", "", Bits::None, SetBy::Spec,
      "LLVM's name of the processor; default for native: this machine's"};
  Words features{*this, "features", {}, Bits::Numerics, SetBy::Spec,
      "LLVM features to add or remove, as in [+avx512f, -fma]"};
  /// In a binary nothing: its features are those that it may use.
  Word host{*this, "host", "", Bits::None, SetBy::Spec,
      "of a program for a GPU, the processor beside it: native, or a level such "
      "as x86-64-v3; default: native"};
  /// In a binary: the threads that the plan was made for.
  Integer threads{*this, "threads", 0, Bits::None, SetBy::Spec,
      "threads that plans are made for; a budget holds for up to so many, and "
      "the program starts fewer if more do not fit; 0: as many as this machine "
      "has",
      from(0, 1 << 10)};
  Word profile{*this, "profile", "", Bits::None, SetBy::Spec,
      "file of measured rates for residuals: planned (./dev bench --profile "
      "FILE); default: nominal rates", aFile};
};

struct Settings : Section {
  Settings() : Section("") {}
  Settings(const Settings &other) : Settings() {*this = other; }
  Settings &operator=(const Settings &) = default;

  /// A run's identity has the imported module and the weights themselves.
  Word model{*this, "model", "", Bits::None, SetBy::Spec,
      "a Hugging Face model folder, or an .mlir file", aFolder};
  Word chat_template{*this, "chat_template", "model", Bits::None, SetBy::Spec,
      "how conversations are written: as the model's own template says, or as a "
      "preset for models without one",
      {{"model", "chatml", "llama3", "gemma", "plain"}}};
  WeightSettings weights;
  LoraSettings lora;
  TrainSettings train;
  PartList parts;
  ExchangeSettings exchange;
  GenerateSettings generate;
  TargetSettings target;

  /// Whether layers below and above cuts have methods of their own.
  bool hasParts() const { return !parts.empty(); }
  /// Of all layers, or of each part, in order.
  std::vector<const MethodSettings *> methods() const;
  /// Names of the programs that train together, from that of the lowest layers
  /// on; none: there is one program.
  std::vector<std::string> programs() const;
  bool hasPrograms() const { return !programs().empty(); }
  /// Some part's program has a target of its own.
  bool hasOwnTargets() const;
  /// The programs before and after one, in the order of their layers; empty:
  /// there is none.
  struct Neighbours {
    std::string before, after;
  };
  Neighbours neighboursOf(const std::string &program) const;
  /// How many steps after a derivative `program` makes its update.
  uint64_t stepsLate(const std::string &program) const;
  /// Steps without data after the last one, in which updates are made.
  uint64_t stepsAfterLast() const {
    return train.asynchronous ? uint64_t(train.modules) - 1 : 0;
  }
  /// The one of `part` that has the name of `setting`; null: there is none.
  static Setting *find(MethodSettings &part, const Setting &setting);
  /// Whether train and each part have one of its name.
  static bool isOfMethod(const Setting &setting);
  /// Whether the data is a task.
  bool hasTask() const { return train.task.text() != "none"; }
  /// Whether gradients are compared with those of a second method.
  bool compares() const { return train.compare.text() != "none"; }
  /// Whether a method reads `setting`; of train, if there are no parts or these
  /// have none of the name.
  bool isRead(const Setting &setting) const {
    return isReadByTraining(setting) || isReadByComparison(setting);
  }
  /// The same without settings that only a comparison reads: those are not of
  /// the run.
  bool isReadByTraining(const Setting &setting) const;
  bool isReadByComparison(const Setting &setting) const;

  /// In the order of the declarations.
  std::vector<const Setting *> all() const;
  std::vector<Setting *> all();
};

// clang-format on

} // namespace hone::rt
