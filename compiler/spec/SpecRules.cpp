//===- SpecRules.cpp - Rules between the keys of a spec -------------------===//

#include "compiler/spec/SpecRules.h"
#include "text/Utf8.h"

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

Status hone::checkSpec(Spec &spec) {
  auto fail = [&](ErrorCode code, const std::string &key,
                  const std::string &problem, const std::string &remedy) {
    return Status::error(code, {spec.placeOf(key), problem, remedy});
  };
  auto disagree = [&](const std::string &key, const std::string &problem,
                      const std::string &remedy) {
    return fail(ErrorCode::KeysDisagree, key, problem, remedy);
  };
  if (!spec.given.count("model"))
    return fail(ErrorCode::MissingKey, "model",
                "the key is required but missing",
                "add: model: path/to/a/hugging-face/directory");

  const std::string &method = spec.train.method;
  // Tiles of rows are planned for every method.
  auto isPlanned = [&](const rt::Setting &setting) {
    return &setting == &spec.train.residuals && setting.text() == "planned";
  };
  for (const rt::Setting *setting : spec.all())
    if (spec.given.count(setting->key()) && !spec.isRead(*setting) &&
        !isPlanned(*setting))
      return disagree(setting->key(),
                      setting->readers() + ", but method is " + method,
                      "remove " + setting->key() + ", or set train.method to " +
                          setting->methods.front());
  for (rt::Setting *setting : spec.all())
    for (auto [of, standard] : setting->standards)
      if (of == method && !spec.given.count(setting->key()))
        setting->parse(standard);
  if (method == "lcsb") {
    if (spec.train.unselected == "identity" && spec.train.residuals != "mesp" &&
        spec.train.residuals != "planned")
      return disagree("train.residuals",
                      "expected mesp or planned, since layers that method lcsb "
                      "selects keep their inputs only, but found " +
                          spec.train.residuals,
                      "leave train.residuals out, or set train.unselected to "
                      "exact");
    bool hasGroups = spec.train.selection == "cyclic";
    const char *unread =
        hasGroups ? "train.selection_ratio" : "train.selection_groups";
    if (spec.given.count(unread))
      return disagree(unread,
                      (hasGroups ? "selection cyclic has groups instead"
                                 : "only selection cyclic reads it, but "
                                   "selection is " +
                                       spec.train.selection),
                      "remove " + std::string(unread) +
                          (hasGroups ? "; train.selection_groups: 2 selects "
                                       "half of the layers"
                                     : ", or set train.selection to cyclic"));
  }

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
  for (auto [key, optimizer] : {std::pair("train.momentum", "sgd"),
                                std::pair("train.adam_beta1", "adamw"),
                                std::pair("train.adam_beta2", "adamw"),
                                std::pair("train.adam_epsilon", "adamw")})
    if (spec.given.count(key) && spec.train.optimizer != optimizer)
      return disagree(key,
                      "only optimizer " + std::string(optimizer) +
                          " reads it, but optimizer is " + spec.train.optimizer,
                      "remove " + std::string(key) +
                          ", or set train.optimizer to " + optimizer);
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
