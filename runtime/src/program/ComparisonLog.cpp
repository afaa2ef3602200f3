//===- ComparisonLog.cpp - The comparisons of a run -----------------------===//
//
// Numbers are written with 17 digits and read back to the bit; JSON has no NaN,
// so a measure that says nothing is null.
//
//===----------------------------------------------------------------------===//

#include "program/ComparisonLog.h"

#include "base/Counted.h"
#include "base/MappedFile.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace hone::rt {

void MeasuredSteps::add(double value) {
  if (std::isnan(value))
    return;
  sum += value;
  least = std::min(least, value);
  most = std::max(most, value);
  ++count;
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

static void appendNumber(std::string &out, const char *name, double value) {
  char text[40] = "null";
  if (std::isfinite(value))
    snprintf(text, sizeof(text), "%.17g", value);
  out += std::string("\"") + name + "\": " + text;
}

static void append(std::string &out, const GradientSums &sums) {
  appendNumber(out, "cosine", sums.cosine());
  appendNumber(out += ", ", "sign_agreement", sums.signAgreement());
  appendNumber(out += ", ", "relative_error", sums.relativeError());
  auto count = [&](const char *name, uint64_t number) {
    out += std::string(", \"") + name + "\": " + std::to_string(number);
  };
  count("elements", sums.elements);
  count("zeros", sums.zeros);
  count("reference_zeros", sums.referenceZeros);
  if (sums.notFinite > 0)
    count("not_finite", sums.notFinite);
}

/// The members of a line after those that every log has.
static std::string membersOf(const ComparedSteps &steps,
                             const GradientComparison &found) {
  std::string out = "\"method\": \"" + steps.method + "\", \"reference\": \"" +
                    steps.reference + "\", ";
  appendNumber(out, "loss", found.loss);
  appendNumber(out += ", ", "reference_loss", found.referenceLoss);
  for (auto [list, groups] :
       {std::pair("layers", &found.layers), std::pair("kinds", &found.kinds)}) {
    out += std::string(", \"") + list + "\": [";
    for (const GradientComparison::Group &group : *groups) {
      out += &group == groups->data() ? "{\"name\": " : ", {\"name\": ";
      out += jsonString(group.name);
      append(out += ", ", group.sums);
      out += "}";
    }
    out += "]";
  }
  append(out += ", \"all\": {", found.all);
  return out + "}";
}

/// NaN for null, as it was written.
static double numberOf(const Json &group, const char *name) {
  const Json *value = group.find(name);
  return value && value->isNumber() ? value->number() : NAN;
}

static void add(ComparedGroup &group, const Json &line) {
  group.cosine.add(numberOf(line, "cosine"));
  group.signAgreement.add(numberOf(line, "sign_agreement"));
  group.relativeError.add(numberOf(line, "relative_error"));
  const double elements = numberOf(line, "elements");
  group.zeros.add(numberOf(line, "zeros") / elements);
  group.referenceZeros.add(numberOf(line, "reference_zeros") / elements);
}

bool ComparisonLog::addLine(const Json &line) {
  const Json *step = line.find("step"), *layers = line.find("layers"),
             *kinds = line.find("kinds"), *all = line.find("all");
  if (!line.has("method", known.method) ||
      !line.has("reference", known.reference) || !step || !step->isInteger() ||
      !layers || !kinds || !all ||
      layers->array().size() != known.layers.size() ||
      kinds->array().size() != known.kinds.size())
    return false;
  for (size_t i = 0; i < known.layers.size(); ++i)
    rt::add(known.layers[i], layers->array()[i]);
  for (size_t i = 0; i < known.kinds.size(); ++i)
    rt::add(known.kinds[i], kinds->array()[i]);
  rt::add(known.all, *all);
  known.notFinite += all->find("not_finite") != nullptr;
  known.last = uint64_t(step->integer());
  known.first = known.count++ ? known.first : known.last;
  return true;
}

Status ComparisonLog::read(const std::string &path, const std::string &name) {
  HONE_ASSIGN(MappedFile file, MappedFile::open(path));
  std::string_view text = file.bytes();
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    // StepLog left lines alone that are of another run, or no JSON any more.
    Result<Json> line = Json::parse(text.substr(0, end), path);
    text.remove_prefix(end);
    if (!line.isOk())
      continue;
    if (line.value().has("run", name))
      addLine(line.value());
  }
  return Status::ok();
}

Result<ComparisonLog> ComparisonLog::open(const std::string &folder,
                                          const std::string &name,
                                          uint64_t completed,
                                          const Module &module) {
  ComparisonLog out;
  const TrainSettings &train = module.config().train;
  out.known.method = train.method;
  out.known.reference = train.compare;
  GradientComparison groups(module);
  for (const GradientComparison::Group &group : groups.layers)
    out.known.layers.push_back({group.name});
  for (const GradientComparison::Group &group : groups.kinds)
    out.known.kinds.push_back({group.name});
  const std::string path = folder + "/" + FileName;
  HONE_ASSIGN(out.log, StepLog::open(path, name, completed));
  HONE_TRY(out.read(path, name));
  return out;
}

Status ComparisonLog::add(uint64_t step, const GradientComparison &found) {
  std::string members = membersOf(known, found);
  // The means are of the numbers that a resumed run reads.
  HONE_ASSIGN(Json line, Json::parse("{\"step\": " + std::to_string(step) +
                                         ", " + members + "}",
                                     FileName));
  addLine(line);
  return log.comparison(step, members);
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

/// `width` columns; a dash where nothing was measured.
static std::string cell(int width, const char *format, double value) {
  char text[64], out[96];
  snprintf(text, sizeof(text), format, value);
  snprintf(out, sizeof(out), "%*s", width, std::isfinite(value) ? text : "-");
  return out;
}

static std::string rowOf(const ComparedGroup &group) {
  char name[32];
  snprintf(name, sizeof(name), "%-12s %-8s", "", group.name.c_str());
  return name + cell(9, "%.4f", group.cosine.mean()) +
         cell(12, "%.2f %%", 100 * group.signAgreement.mean()) +
         cell(13, "%.4g", group.relativeError.mean()) +
         cell(12, "%.2f %%", 100 * group.zeros.mean()) +
         cell(12, "%.2f %%", 100 * group.referenceZeros.mean()) + "\n";
}

std::string ComparedSteps::table() const {
  char head[256];
  snprintf(head, sizeof(head), "%-12s ", "compared");
  std::string text = head + method + " with " + reference;
  if (count == 0)
    return text + ": no step yet\n";
  snprintf(head, sizeof(head),
           ": means over %s, %" PRIu64 " to %" PRIu64 "\n"
           "%-12s %-8s%9s%12s%13s%12s%12s\n",
           counted(count, "step").c_str(), first, last, "", "layer", "cosine",
           "equal signs", "error", "zeros of g", "zeros of r");
  text += head;
  uint64_t without = 0;
  auto add = [&](const ComparedGroup &group) {
    text += rowOf(group);
    without = std::max(without, count - group.cosine.count);
  };
  for (const std::vector<ComparedGroup> *groups : {&layers, &kinds})
    for (const ComparedGroup &group : *groups)
      add(group);
  add(all);
  auto note = [&](const std::string &line) {
    snprintf(head, sizeof(head), "%-12s ", "");
    text += head + line + "\n";
  };
  note("g: " + method + ", r: " + reference +
       "; signs are those where r is not 0, error is |g - r| / |r|");
  if (notFinite > 0)
    note("in " + counted(notFinite, "step") +
         " a gradient has elements that are not finite: those have no measure");
  if (without > notFinite)
    note("cosines leave out steps in which g or r is 0 everywhere, as dA is "
         "where B is: up to " +
         counted(without - notFinite, "step"));
  return text;
}

} // namespace hone::rt
