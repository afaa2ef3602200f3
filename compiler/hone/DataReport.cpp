//===- DataReport.cpp - The samples that a program would train on ---------===//

#include "compiler/hone/DataReport.h"

#include "base/Json.h"
#include "compiler/import/HuggingFaceModel.h"
#include "platform/Files.h"
#include "program/SampleDisplay.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;
using llvm::StringRef;

static constexpr double kParts[] = {0.5, 0.9, 0.95, 0.99, 1};

static void printTable(const DataRequest &request, const DataSurvey &survey) {
  llvm::raw_ostream &out = llvm::outs();
  const rt::Dataset &data = survey.data();
  out << "data         " << request.survey.path << "\n";
  for (StringRef line : linesOf(data.notes()))
    out << "             " << line << "\n";
  out << llvm::formatv("tokens       {0}, of which {1} have a loss\n",
                       data.tokenCount(), data.targetCount());
  const SampleLengths &lengths = survey.lengths();
  if (lengths.count() > 0) {
    out << "lengths     ";
    for (double part : kParts)
      out << llvm::formatv("{0} {1} % up to {2}", part == kParts[0] ? "" : ",",
                           int(part * 100 + 0.5), lengths.percentile(part));
    out << "\n";
    // A power of two at a time, up to the longest.
    for (int64_t most = 32;; most *= 2) {
      const uint64_t longer = lengths.longerThan(most);
      out << llvm::formatv("  max_seq_length {0,6}: {1} longer ({2:f1} %)\n",
                           most, longer,
                           100.0 * double(longer) / double(lengths.count()));
      if (longer == 0)
        break;
    }
  }
  rt::showSamples(data, survey.tokenizer(), request.shown,
                  rt::platform::takesColours(rt::platform::StandardOutput),
                  [&](const std::string &text) { out << text; });
}

static void printJson(const DataSurvey &survey) {
  const rt::Dataset &data = survey.data();
  std::string format = rt::jsonString(rt::describe(data.format()));
  std::string notes = rt::jsonString(data.notes());
  llvm::raw_ostream &out = llvm::outs();
  out << llvm::formatv("{{\"format\":{0},\"samples\":{1},\"tokens\":{2},"
                       "\"targets\":{3},\"notes\":{4},\"lengths\":{{",
                       format, data.sampleCount(), data.tokenCount(),
                       data.targetCount(), notes);
  for (double part : kParts)
    if (survey.lengths().count() > 0)
      out << llvm::formatv("{0}\"{1}\":{2}", part == kParts[0] ? "" : ",",
                           int(part * 100 + 0.5),
                           survey.lengths().percentile(part));
  out << "}}\n";
}

static void printIds(const DataSurvey &survey) {
  const rt::Dataset &data = survey.data();
  llvm::raw_fd_ostream &out = llvm::outs();
  for (uint64_t i = 0; i < data.sampleCount() && !out.has_error(); ++i) {
    const rt::Sample sample = data.sample(i);
    out << "{\"input_ids\":[";
    for (int64_t k = 0; k < sample.length; ++k)
      out << (k ? "," : "") << sample.ids[k];
    // A target is the label of the next position.
    out << "],\"labels\":[" << rt::NoTarget;
    for (int64_t k = 0; k + 1 < sample.length; ++k)
      out << "," << sample.targets[k];
    out << "]}\n";
    data.release();
  }
}

Status hone::reportData(const DataRequest &request) {
  // Without one, the error would be the data's.
  if (!llvm::sys::fs::is_directory(request.model))
    HONE_TRY(HuggingFaceModel::open(request.model));
  HONE_ASSIGN(const DataSurvey survey,
              DataSurvey::make(request.model, request.survey));
  switch (request.format) {
  case DataFormatOut::Table:
    printTable(request, survey);
    break;
  case DataFormatOut::Json:
    printJson(survey);
    break;
  case DataFormatOut::Ids:
    printIds(survey);
    break;
  }
  return Status::ok();
}
