//===- Task.cpp - Tasks of GLUE and SuperGLUE as text ---------------------===//

#include "tasks/Task.h"

namespace hone::rt {

static std::string asItIs(std::string text) { return text; }

static std::string strip(std::string text) {
  static constexpr const char *Space = " \t\n\r\v\f";
  const size_t first = text.find_first_not_of(Space);
  if (first == std::string::npos)
    return "";
  return text.substr(first, text.find_last_not_of(Space) + 1 - first);
}

static char lowerOf(char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; }

/// Letters beyond ASCII stay: pronouns have none.
static std::string lower(std::string text) {
  for (char &c : text)
    c = lowerOf(c);
  return text;
}

/// Ends in "?" and begins with a capital letter, if that is one of ASCII.
static std::string asQuestion(std::string text) {
  if (text.empty() || text.back() != '?')
    text += '?';
  if (text[0] >= 'a' && text[0] <= 'z')
    text[0] = char(text[0] - 32);
  return text;
}

static const std::vector<Task> &tasks() {
  using Labels = std::vector<Task::Label>;
  static const Labels noYes = {{{"0", "false"}, "No"}, {{"1", "true"}, "Yes"}};
  static const std::vector<Task> all = {
      {"sst2",
       {{{"sentence"}, strip}},
       {"label"},
       {{{"0", "negative"}, " terrible"}, {{"1", "positive"}, " great"}},
       "{0} It was"},
      {"rte",
       {{{"premise", "sentence1"}, asItIs},
        {{"hypothesis", "sentence2"}, asItIs}},
       {"label"},
       {{{"0", "entailment"}, "Yes"}, {{"1", "not_entailment"}, "No"}},
       "{0}\nDoes this mean that \"{1}\" is true? Yes or No?\n"},
      {"cb",
       {{{"premise"}, asItIs}, {{"hypothesis"}, asItIs}},
       {"label"},
       {{{"0", "entailment"}, "Yes"},
        {{"1", "contradiction"}, "No"},
        {{"2", "neutral"}, "Maybe"}},
       "Suppose {0} Can we infer that \"{1}\"? Yes, No, or Maybe?\n"},
      {"boolq",
       {{{"passage"}, asItIs}, {{"question"}, asQuestion}},
       {"label", "answer"},
       {{{"1", "true"}, "Yes"}, {{"0", "false"}, "No"}},
       "{0} {1}\n"},
      {"wic",
       {{{"word"}, asItIs}, {{"sentence1"}, asItIs}, {{"sentence2"}, asItIs}},
       {"label"},
       noYes,
       "Does the word \"{0}\" have the same meaning in these two sentences? "
       "Yes, No?\n{1}\n{2}\n"},
      {"wsc",
       {{{"text"}, asItIs}, {{"span1_text"}, asItIs}, {{"span2_text"}, lower}},
       {"label"},
       noYes,
       "{0}\nIn the previous sentence, does the pronoun \"{2}\" refer to {1}? "
       "Yes or No?\n"}};
  return all;
}

const Task *Task::find(std::string_view name) {
  for (const Task &task : tasks())
    if (name == task.name)
      return &task;
  return nullptr;
}

std::string Task::promptOf(const std::vector<std::string> &texts) const {
  std::string out;
  for (std::string_view rest = prompt; !rest.empty();) {
    const size_t brace = rest.find('{');
    out += rest.substr(0, brace);
    if (brace == std::string_view::npos)
      break;
    const auto field = size_t(rest[brace + 1] - '0');
    out += fields[field].write(texts[field]);
    rest.remove_prefix(brace + 3);
  }
  // MeZO strips the text with its candidate on the left, and of spaces on both
  // sides; after a prompt stand its own words.
  const size_t first = out.find_first_not_of(" \t\n\r\v\f");
  return first == std::string::npos ? "" : out.substr(first);
}

std::string Task::word(size_t label) const {
  return strip(labels[label].candidate);
}

} // namespace hone::rt
