//===- Prediction.cpp - The result of a simulation, for people ------------===//

#include "compiler/simulate/Prediction.h"

#include "base/Json.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace hone::simulate {

static constexpr const char *kNames[kActivities] = {"computing", "waiting",
                                                    "sending"};
static constexpr const char *kColours[kActivities] = {"#3b7dd8", "#e6e6e6",
                                                      "#e8963a"};

__attribute__((format(printf, 2, 3))) static void
append(std::string &out, const char *format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  out += line;
}

Prediction predict(const std::vector<SimulatedProgram> &programs,
                   const std::vector<SimulatedRun> &runs) {
  Prediction prediction;
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::vector<Totals> &steps = runs[i].steps;
    const size_t middle = (steps.size() - 1) / 2;
    const double count = double(steps.size() - 1 - middle);
    const Totals &first = steps[middle], &last = steps.back();
    ProgramPrediction own;
    own.name = programs[i].name;
    own.step = (last.time - first.time) / count;
    for (unsigned k = 0; k < kActivities; ++k)
      own.seconds[k] = (last.seconds[k] - first.seconds[k]) / count;
    own.sent = double(last.sent - first.sent) / count;
    own.received = double(last.received - first.received) / count;
    prediction.step = std::max(prediction.step, own.step);
    prediction.programs.push_back(std::move(own));
  }
  return prediction;
}

std::string table(const Prediction &prediction, const std::string &assumed) {
  size_t width = 16;
  for (const ProgramPrediction &own : prediction.programs)
    width = std::max(width, own.name.size());
  std::string out;
  append(out, "prediction: %.6g s a step\n%s\n", prediction.step,
         assumed.c_str());
  append(out, "  %-*s%14s%14s%14s%16s%16s\n", int(width), "program",
         "computing", "waiting", "sending", "sent", "received");
  for (const ProgramPrediction &own : prediction.programs) {
    append(out, "  %-*s", int(width),
           own.name.empty() ? "train" : own.name.c_str());
    for (double seconds : own.seconds)
      append(out, "%12.4g s", seconds);
    append(out, "%14.0f B%14.0f B\n", own.sent, own.received);
  }
  return out;
}

std::string json(const Prediction &prediction) {
  std::string out;
  append(out, "{\"prediction\": {\"step_seconds\": %.9g, \"programs\": [",
         prediction.step);
  for (const ProgramPrediction &own : prediction.programs) {
    out += &own == prediction.programs.data() ? "\n" : ",\n";
    out += "{\"name\": " + rt::jsonString(own.name);
    append(out, ", \"step_seconds\": %.9g", own.step);
    for (unsigned k = 0; k < kActivities; ++k)
      append(out, ", \"%s\": %.9g", kNames[k], own.seconds[k]);
    append(out, ", \"sent\": %.0f, \"received\": %.0f}", own.sent,
           own.received);
  }
  return out + "]}}\n";
}

/// `text` as XML has it.
static std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '<'   ? std::string("&lt;")
           : c == '>' ? std::string("&gt;")
           : c == '&' ? std::string("&amp;")
                      : std::string(1, c);
  return out;
}

std::string drawing(const std::vector<SimulatedProgram> &programs,
                    const std::vector<SimulatedRun> &runs,
                    const std::string &assumed, uint64_t shown) {
  constexpr double width = 1000, bar = 18, gap = 8, top = 62;
  // Small letters and digits of 12 pixels are about 7 wide, m and w below 12.
  double left = 130;
  for (const SimulatedProgram &program : programs)
    left = std::max(left, 20 + 8 * double(program.name.size()));
  double begin = 0, end = 0;
  for (const SimulatedRun &run : runs) {
    const size_t first =
        run.steps.size() - 1 - std::min<size_t>(shown, run.steps.size() - 1);
    begin = &run == runs.data() ? run.steps[first].time
                                : std::min(begin, run.steps[first].time);
    end = std::max(end, run.steps.back().time);
  }
  const double scale = end > begin ? width / (end - begin) : 0;
  const double height = top + double(runs.size()) * (bar + gap) + 30;
  std::string out;
  append(out,
         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
         "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n",
         left + width + 20, height);
  append(out, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
  out += "<text x=\"10\" y=\"20\">Prediction, not a measurement: " +
         escaped(assumed) + "</text>\n";
  for (unsigned k = 0; k < kActivities; ++k)
    append(out,
           "<rect x=\"%u\" y=\"32\" width=\"12\" height=\"12\" fill=\"%s\"/>"
           "<text x=\"%u\" y=\"43\">%s</text>\n",
           10 + k * 110, kColours[k], 28 + k * 110, kNames[k]);
  append(out,
         "<path d=\"M%u 31v14\" stroke=\"black\" stroke-width=\"1\"/>"
         "<text x=\"%u\" y=\"43\">end of a step</text>\n",
         16 + kActivities * 110, 28 + kActivities * 110);
  for (size_t i = 0; i < runs.size(); ++i) {
    const double y = top + double(i) * (bar + gap);
    append(out, "<text x=\"10\" y=\"%.1f\">", y + 13);
    out += escaped(programs[i].name.empty() ? "train" : programs[i].name) +
           "</text>\n";
    for (const Span &span : runs[i].spans) {
      const double from = std::max(span.begin, begin),
                   to = std::min(span.end, end);
      // Narrower than can be seen.
      if ((to - from) * scale < 0.02)
        continue;
      append(out,
             "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" "
             "fill=\"%s\"/>\n",
             left + (from - begin) * scale, y, (to - from) * scale, bar,
             kColours[unsigned(span.activity)]);
    }
    for (const Totals &step : runs[i].steps)
      if (step.time >= begin && step.time <= end)
        append(out,
               "<path d=\"M%.2f %.1fv%.0f\" stroke=\"black\" "
               "stroke-width=\"1\"/>\n",
               left + (step.time - begin) * scale, y - 2, bar + 4);
  }
  append(out,
         "<text x=\"%.0f\" y=\"%.0f\">%.4g s</text>"
         "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.4g s</text>\n",
         left, height - 10, begin, left + width, height - 10, end);
  return out + "</svg>\n";
}

} // namespace hone::simulate
