//===- ModelCard.cpp - README.md beside an adapter ------------------------===//

#include "program/ModelCard.h"

#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "program/ReportLine.h"
#include "program/StandardOutput.h"
#include "program/Summary.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace hone::rt {

/// A card with it is written again.
static constexpr std::string_view mark =
    "<!-- Written by Hone. It is written again when the run goes on, unless "
    "this line is gone. -->";

/// Whether it is a name on the Hugging Face Hub: owner/model.
static bool isHubName(std::string_view name) {
  const size_t slash = name.find('/');
  return slash != std::string_view::npos && slash > 0 &&
         slash == name.rfind('/') && slash + 1 < name.size() &&
         name.front() != '.' && name.front() != '~' && name.size() <= 200 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') ||
                  std::string_view("-_./").find(c) != std::string_view::npos;
         });
}

/// `text` in a cell of a table, and in no markup.
static std::string cellOf(std::string_view text) {
  std::string out = escapeMarkup(text);
  for (char &c : out)
    if (c == '|' || c == '`' || c == '\n')
      c = ' ';
  return out;
}

static std::string row(const char *name, const std::string &value) {
  return std::string("| ") + name + " | " + cellOf(value) + " |\n";
}

/// "a, b" of the rows of a header, such as "method       mezo, float32".
static std::string valueOf(const std::string &header, std::string_view name) {
  for (std::string_view rest = header; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (line.substr(0, name.size()) == name)
      return std::string(line.substr(line.find_first_not_of(' ', name.size())));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return "";
}

static std::string lossText(const Evaluation &found) {
  char text[128];
  int size = snprintf(text, sizeof(text), "loss %.4f, perplexity %.4g",
                      found.loss, found.perplexity());
  if (found.hasAccuracy())
    snprintf(text + size, sizeof(text) - size_t(size), ", accuracy %.4f",
             found.accuracy());
  return text;
}

/// How to load the adapter of `base`, a name or a place for one.
static std::string useOf(const std::string &base) {
  return "```python\n"
         "from peft import PeftModel\n"
         "from transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
         "base = AutoModelForCausalLM.from_pretrained(\"" +
         base +
         "\")\n"
         "tokenizer = AutoTokenizer.from_pretrained(\"" +
         base +
         "\")\n"
         "model = PeftModel.from_pretrained(base, \"this/folder\")\n"
         "```\n\n```sh\n"
         "hone chat this/folder                     # what hone finetune "
         "wrote\n"
         "hone-adapter merge the/base/model this/folder -o merged\n"
         "```\n";
}

/// How to make one adapter of this and the other programs' parts.
static std::string joinOf(const ModuleConfig &config) {
  std::string folders;
  for (const std::string &program : config.programs())
    folders += program == config.program ? "this/folder "
                                         : "the/folder/of/" + program + " ";
  return "It has the layers of one program alone. The folders of all "
         "make one adapter:\n\n```sh\nhone-adapter join " +
         folders + "-o adapter\n```\n";
}

std::string ModelCard::render(const Module &module, const Options &options,
                              const Run &run) {
  const ModuleConfig &config = module.config();
  const std::string &given = config.adapter.base_model_name_or_path;
  const bool isOnHub = isHubName(given);
  const std::string base =
      isOnHub ? given : platform::lastPart(config.modelName);
  const std::string name =
      platform::lastPart(platform::resolve(options.output));
  const bool isPart = !config.program.empty();
  const std::string header =
      describeModel(module) + describeRun(module, options, run);
  std::string text = "---\n";
  if (isOnHub)
    text += "base_model: " + given + "\n";
  text += "library_name: peft\npipeline_tag: text-generation\ntags:\n";
  if (isOnHub)
    text += "- base_model:adapter:" + given + "\n";
  text += "- lora\n- hone\n---\n";
  text += std::string(mark) + "\n\n# " + cellOf(name) + "\n\n" +
          (isPart ? "The part of '" + config.program + "' in a" : "A") +
          " LoRA adapter of " + cellOf(base) +
          ", trained with Hone. It is in PEFT's format.\n\n"
          "| | |\n|---|---|\n";
  text += row("base model", base + " (" + config.modelType + "), weights " +
                                config.weights.dtype);
  text += row("adapter", valueOf(header, "lora "));
  std::string targets;
  for (const std::string &target : config.adapter.target_modules)
    targets += (targets.empty() ? "" : ", ") + target;
  text += row("modules", targets);
  text +=
      row("trainable parameters", groupDigits(module.abi().trainable_elements));
  text += row("method", valueOf(header, "method "));
  text += row("rates", valueOf(header, "rates "));
  if (!options.data.empty())
    text += row("data", platform::lastPart(options.data));
  const uint64_t done = run.completedSteps();
  text += row("steps", valueOf(header, "steps ") +
                           (done == run.totalSteps()
                                ? ""
                                : ", ended after " + groupDigits(done)));
  const std::optional<Evaluation> &first = run.firstEvaluation(),
                                  &last = run.lastEvaluation();
  if (last) {
    text += row("held-out data", options.evalData.empty()
                                     ? "a part of the data"
                                     : platform::lastPart(options.evalData));
    if (first)
      text += row("before training", lossText(*first));
    text += row("after training", lossText(*last));
  }
  if (run.best().exists())
    text += row("best evaluation", run.best().text());
  return text + "\n## Use\n\n" +
         (isPart ? joinOf(config) : useOf(isOnHub ? given : "the/base/model"));
}

void ModelCard::write(const Module &module, const Options &options,
                      const Run &run) {
  const std::string path = options.output + "/" + FileName;
  if (const Result<MappedFile> found = MappedFile::open(path);
      found.isOk() ? found.value().bytes().find(mark) == std::string_view::npos
                   : platform::exists(path))
    return;
  if (Status status =
          writeFile(path, render(module, options, run), FolderSync::Later);
      !status.isOk())
    printWarning(ErrorCode::WriteFailed, path + ": " +
                                             status.message().problem +
                                             "; the run has no model card");
}

} // namespace hone::rt
