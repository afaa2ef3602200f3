//===- DataReport.h - The samples that a program would train on -----------===//

#pragma once

#include "compiler/hone/DataSurvey.h"

#include <string>

namespace hone {

enum class DataFormatOut {
  Table, ///< for a person, with some samples
  Json,  ///< one object: format, samples, tokens, targets, notes, lengths
  Ids,   ///< every sample as a line that train reads: input_ids and labels
};

struct DataRequest {
  std::string model;
  SurveyOptions survey;
  DataFormatOut format = DataFormatOut::Table;
  uint64_t shown = 2; ///< samples of the table
};

/// Prints it. Errors: those of DataSurvey::make.
Status reportData(const DataRequest &request);

} // namespace hone
