//===- ComparisonPlot.cpp - Compared gradients as a picture ---------------===//
//
// Axes of cosines and signs have a fixed range: that a bad estimate looks bad
// is what the picture is for. Errors differ by powers of ten, and have a scale
// of them.
//
//===----------------------------------------------------------------------===//

#include "program/ComparisonPlot.h"

#include "program/Svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace hone::rt {

namespace {

constexpr const char *bold = "font-weight=\"bold\"";
constexpr double left = 70, right = 20, top = 46, panelHeight = 140, gap = 44;

/// One measure of all layers.
class Panel {
public:
  Panel(double y, double width, size_t layers)
      : y(y), width(width), layers(layers) {}

  /// The values at the bottom and at the top.
  double low = 0, high = 1;
  bool isLogarithmic = false;

  double xOf(size_t layer) const {
    return left + width * (double(layer) + 0.5) / double(layers);
  }
  double yOf(double value) const {
    double at = isLogarithmic ? std::log10(std::max(value, 1e-300)) : value;
    return y +
           panelHeight * (1 - std::clamp((at - low) / (high - low), 0., 1.));
  }
  double bottom() const { return y + panelHeight; }

private:
  double y, width;
  size_t layers;
};

} // namespace

static std::string textOf(double value) {
  char text[32];
  snprintf(text, sizeof(text), "%g", value);
  return text;
}

static void drawTick(std::string &out, const Panel &panel, double width,
                     double value) {
  double y = panel.yOf(value);
  svg::line(out, left, y, left + width, y, "stroke=\"#d8d8d8\"");
  svg::label(out, left - 8, y + 4, textOf(value), "end");
}

static void drawMeasure(std::string &out, const Panel &panel,
                        const std::vector<ComparedGroup> &layers,
                        MeasuredSteps ComparedGroup::*measure) {
  for (size_t i = 0; i < layers.size(); ++i) {
    const MeasuredSteps &steps = layers[i].*measure;
    if (steps.count == 0)
      continue;
    double x = panel.xOf(i);
    svg::line(out, x, panel.yOf(steps.least), x, panel.yOf(steps.most),
              "stroke=\"#7fa9d6\" stroke-width=\"3\"");
    svg::dot(out, x, panel.yOf(steps.mean()), 3.5, "fill=\"#1f5fa8\"");
  }
}

/// Whole powers of ten that all errors are between. Below 1e-4, and 0 above
/// all, there is nothing to see: those are drawn at the bottom.
static void findRange(Panel &panel, const std::vector<ComparedGroup> &layers) {
  double low = 0, high = 0;
  for (const ComparedGroup &layer : layers) {
    const MeasuredSteps &steps = layer.relativeError;
    if (steps.count == 0)
      continue;
    high = std::max(high, std::ceil(std::log10(std::max(steps.most, 1e-4))));
    low = std::min(low, std::floor(std::log10(std::max(steps.least, 1e-4))));
  }
  panel.isLogarithmic = true;
  panel.low = std::min(low, -1.);
  panel.high = std::max(high, panel.low + 1);
}

std::string plotComparison(const ComparedSteps &steps) {
  const size_t count = std::max<size_t>(steps.layers.size(), 1);
  const double width = std::max(360., 18. * double(count));
  const double height = top + 3 * (panelHeight + gap) + 6;
  char head[320];
  snprintf(head, sizeof(head),
           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
           "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"11\">\n"
           "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
           left + width + right, height);
  std::string out = head;
  svg::label(out, 10, 18, steps.method + " compared with " + steps.reference,
             "start", bold);
  svg::label(out, 10, 33,
             std::to_string(steps.count) + " steps, mean and range, by layer",
             "start");
  struct {
    const char *name;
    MeasuredSteps ComparedGroup::*measure;
    double low, high;
    std::vector<double> ticks;
  } panels[] = {
      {"cosine", &ComparedGroup::cosine, -1, 1, {-1, -0.5, 0, 0.5, 1}},
      {"equal signs", &ComparedGroup::signAgreement, 0, 1, {0, 0.5, 1}},
      {"relative error", &ComparedGroup::relativeError, 0, 0, {}},
  };
  double y = top + 12;
  for (auto &[name, measure, low, high, ticks] : panels) {
    Panel panel(y, width, count);
    panel.low = low;
    panel.high = high;
    if (ticks.empty()) {
      findRange(panel, steps.layers);
      double every = std::ceil((panel.high - panel.low) / 6);
      for (double power = panel.low; power <= panel.high; power += every)
        ticks.push_back(std::pow(10., power));
    }
    svg::label(out, left, y - 7, name, "start", bold);
    for (double tick : ticks)
      drawTick(out, panel, width, tick);
    drawMeasure(out, panel, steps.layers, measure);
    for (size_t i = 0; i < steps.layers.size(); ++i)
      svg::label(out, panel.xOf(i), panel.bottom() + 14, steps.layers[i].name,
                 "middle");
    y += panelHeight + gap;
  }
  return out + "</svg>\n";
}

} // namespace hone::rt
