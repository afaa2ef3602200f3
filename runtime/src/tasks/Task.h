//===- Task.h - Tasks of GLUE and SuperGLUE as text -----------------------===//
//
// The fields of an example, its labels, and the form of a prompt and its
// candidates: MeZO's templates (Malladi et al., NeurIPS 2023;
// princeton-nlp/MeZO, large_models/templates.py), to the character.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "step/Evaluation.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

struct Task {
  /// A text that an example has, by its names in SuperGLUE and GLUE.
  struct Field {
    std::vector<const char *> names;
    std::string (*write)(std::string); ///< as the prompt has it
  };
  struct Label {
    std::vector<const char *> names; ///< in data, compared without case
    const char *candidate;           ///< the text after the prompt
  };

  static constexpr size_t MostLabels = ScoredExample::MostCandidates;

  const char *name;
  std::vector<Field> fields;
  std::vector<const char *> labelNames; ///< of the field with the label
  std::vector<Label> labels;            ///< of equal ones the first wins
  const char *prompt;                   ///< with {0}, {1}, ... for the fields

  /// Null if there is none of this name.
  static const Task *find(std::string_view name);

  /// One text for each field. Without spaces around it, as MeZO strips it.
  std::string promptOf(const std::vector<std::string> &texts) const;
  /// Without the space before it.
  std::string word(size_t label) const;
};

} // namespace hone::rt
