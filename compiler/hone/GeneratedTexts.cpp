//===- GeneratedTexts.cpp - A model's texts before training and after it --===//

#include "compiler/hone/GeneratedTexts.h"

#include "base/Json.h"
#include "base/MappedFile.h"
#include "compiler/hone/ChildProgram.h"
#include "program/ReportFile.h"
#include "program/ReportLine.h"
#include "program/RunReport.h"

#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <map>

using namespace hone;
using rt::Json;

static constexpr const char *kNewTokens = "64";
static constexpr std::chrono::seconds kMostTime(60);

namespace {
/// A sample of the report, as RunReport::sample() wrote it.
struct Prompt {
  std::string ids; ///< with commas
  std::string prompt, expected;
};
struct Prompts {
  std::map<int64_t, Prompt> byIndex; ///< the last line of each
  uint64_t step = 0;                 ///< after which they were written
};
} // namespace

static void addSample(llvm::ArrayRef<Json> values, Prompts &prompts) {
  if (values.size() != 9 || !values[2].isInteger() || !values[6].isArray() ||
      !values[7].isString() || !values[8].isString())
    return;
  Prompt prompt{"", values[7].string(), values[8].string()};
  for (const Json &id : values[6].array())
    prompt.ids +=
        (prompt.ids.empty() ? "" : ",") + std::to_string(id.integer());
  if (!prompt.ids.empty() && !prompt.prompt.empty())
    prompts.byIndex[values[2].integer()] = std::move(prompt);
}

static Result<Prompts> promptsOf(const std::string &path) {
  HONE_ASSIGN(const rt::MappedFile page, rt::MappedFile::open(path));
  const std::string_view text = page.bytes();
  Prompts prompts;
  for (size_t at = rt::reportLinesAt(text); at < text.size();) {
    const auto line = rt::readReportLine(text.substr(at));
    if (!line)
      break;
    at += line->size;
    prompts.step = line->step;
    if (line->kind != "sample")
      continue;
    if (const Result<Json> values = Json::parse(line->values, path);
        values.isOk())
      addSample(values.value().array(), prompts);
  }
  return prompts;
}

Result<unsigned> hone::addGeneratedTexts(const std::string &folder,
                                         const std::string &generate) {
  const std::string path = folder + "/" + rt::RunReport::FileName;
  HONE_ASSIGN(const Prompts prompts, promptsOf(path));
  rt::ReportFile file;
  unsigned written = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const auto &[index, prompt] : prompts.byIndex) {
    if (std::chrono::steady_clock::now() - start > kMostTime)
      break;
    std::string texts[2];
    for (const bool isAfter : {false, true}) {
      std::vector<std::string> arguments{"--prompt-ids", prompt.ids,
                                         "--max-new-tokens", kNewTokens,
                                         "--quiet"};
      if (isAfter)
        arguments.insert(arguments.end(), {"--adapter", folder});
      HONE_ASSIGN(const ProgramOutput said,
                  captureProgram(generate, arguments));
      if (said.code > 128)
        return written; // a signal: the person wants an end
      if (said.code != 0)
        break; // too long for the program
      texts[isAfter] = llvm::StringRef(said.text).rtrim('\n').str();
    }
    if (texts[0].empty() && texts[1].empty())
      continue;
    if (!file.isOpen() && !file.extend(path))
      return written;
    rt::ReportLine line;
    line.begin("text", prompts.step);
    line.whole(uint64_t(index));
    for (const llvm::StringRef text :
         {llvm::StringRef(prompt.prompt), llvm::StringRef(prompt.expected),
          llvm::StringRef(texts[0]), llvm::StringRef(texts[1])})
      line.text(text);
    line.endValues();
    using Row = std::pair<const char *, llvm::StringRef>;
    for (const auto &[name, text] :
         {Row("prompt", prompt.prompt), Row("before training", texts[0]),
          Row("after training", texts[1]),
          Row("in the data", prompt.expected)}) {
      line.beginRow();
      line.cell(name);
      line.cell(text, 6);
    }
    file.append(line.end());
    ++written;
  }
  return written;
}
