//===- HistoryChart.cpp - Curves over the steps of a run ------------------===//
//
// As wide as a phone, so that letters stay legible there: wider pages show more
// charts beside one another, not larger ones.
//
//===----------------------------------------------------------------------===//

#include "program/HistoryChart.h"

#include "program/Svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace hone::rt {

namespace {
constexpr double width = 400, height = 220;
constexpr double left = 52, right = 12, top = 10, bottom = 26;

/// From steps and values to the picture.
struct Frame {
  double low, high, steps;
  bool isLogarithmic;
  double x(double step) const {
    return left + (width - left - right) * step / steps;
  }
  double y(double value) const {
    if (isLogarithmic)
      value = std::log10(value);
    return top + (height - top - bottom) * (1 - (value - low) / (high - low));
  }
};
} // namespace

static std::string textOf(double value) {
  char text[32];
  snprintf(text, sizeof(text), "%.5g", value);
  return text;
}

static void appendPoint(std::string &out, double x, double y) {
  char text[40];
  snprintf(text, sizeof(text), "%.1f,%.1f ", x, y);
  out += text;
}

static void drawCurve(std::string &out, const Frame &frame,
                      const HistoryChart::Curve &curve, double unit) {
  const std::string colour = std::string("class=\"") + curve.colour;
  const std::string dotted = colour + " dot\"";
  if (curve.isDots || curve.series->count == 1) { // one point is no line
    const double radius = curve.series->count > 40 ? 1.6 : 3;
    for (const ThinnedSeries::Bucket &bucket : curve.series->all())
      if (bucket.count > 0)
        svg::dot(out, frame.x(bucket.step()), frame.y(bucket.mean() / unit),
                 radius, dotted.c_str());
    return;
  }
  const std::vector<ThinnedSeries::Bucket> &buckets = curve.series->all();
  auto points = [&](auto first, auto last, auto valueOf) {
    for (; first != last; ++first)
      if (first->count > 0)
        appendPoint(out, frame.x(first->step()),
                    frame.y(valueOf(*first) / unit));
  };
  using Bucket = ThinnedSeries::Bucket;
  if (curve.series->isThinned()) {
    out += "<polygon " + colour + " band\" points=\"";
    points(buckets.begin(), buckets.end(),
           [](const Bucket &bucket) { return bucket.most; });
    points(buckets.rbegin(), buckets.rend(),
           [](const Bucket &bucket) { return bucket.least; });
    out += "\"/>\n";
  }
  out += "<polyline " + colour + " line\" points=\"";
  points(buckets.begin(), buckets.end(),
         [](const Bucket &bucket) { return bucket.mean(); });
  out += "\"/>\n";
}

std::string HistoryChart::render(uint64_t lastStep) const {
  double low = INFINITY, high = -INFINITY;
  for (const Curve &curve : curves)
    if (!curve.series->empty()) {
      low = std::min(low, curve.series->least / unit);
      high = std::max(high, curve.series->most / unit);
    }
  if (!(low <= high))
    return "";
  for (const Level &level : levels) {
    low = std::min(low, level.value / unit);
    high = std::max(high, level.value / unit);
  }
  if (isLogarithmic) {
    low = std::floor(std::log10(low));
    high = std::ceil(std::log10(high));
  } else if (fromZero) {
    low = std::min(low, 0.0);
  }
  if (high - low <= 1e-12 * std::max(std::fabs(low), std::fabs(high))) {
    const double around = low == 0 ? 1 : std::fabs(low) * 0.1;
    high += around;
    low -= fromZero ? 0 : around;
  }
  const double room = isLogarithmic ? 0 : (high - low) * 0.05;
  const Frame frame{fromZero && low == 0 ? 0 : low - room, high + room,
                    double(std::max<uint64_t>(lastStep, 1)), isLogarithmic};

  std::string out;
  // For all curves of a chart, so that more steps make no more allocations.
  out.reserve(64 * 1024);
  out += "<figure>\n<figcaption>" + svg::escape(title);
  const auto shown =
      std::count_if(curves.begin(), curves.end(),
                    [](const Curve &curve) { return !curve.series->empty(); });
  for (const Curve &curve : curves)
    if (!curve.series->empty() && size_t(shown) + levels.size() > 1)
      out += std::string(" <span class=\"key ") + curve.colour + "\">" +
             svg::escape(curve.name) + "</span>";
  for (const Level &level : levels)
    out += std::string(" <span class=\"key level ") + level.colour + "\">" +
           svg::escape(level.name) + "</span>";
  char head[160];
  snprintf(head, sizeof(head),
           "</figcaption>\n<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
           "aria-label=\"",
           width, height);
  out += head + svg::escape(title) + " by step\">\n";
  for (double tick : svg::ticks(frame.low, frame.high, 5)) {
    // What is next to nothing beside its neighbours is 0, not 1e-17.
    if (std::fabs(tick) < 1e-9 * (frame.high - frame.low))
      tick = 0;
    if (isLogarithmic && tick != std::floor(tick))
      continue;
    if (isLogarithmic)
      tick = std::pow(10.0, tick);
    svg::line(out, left, frame.y(tick), width - right, frame.y(tick),
              "class=\"grid\"");
    svg::label(out, left - 6, frame.y(tick) + 4, textOf(tick), "end");
  }
  for (double tick : svg::ticks(0, frame.steps, 4))
    if (tick == std::floor(tick)) {
      const bool isLast = frame.x(tick) > width - right - 14;
      svg::label(out, isLast ? width - 2 : frame.x(tick), height - 8,
                 textOf(tick), isLast ? "end" : "middle");
    }
  for (const Level &level : levels) {
    const std::string style =
        std::string("class=\"level ") + level.colour + "\"";
    svg::line(out, left, frame.y(level.value / unit), width - right,
              frame.y(level.value / unit), style.c_str());
  }
  for (const Curve &curve : curves)
    drawCurve(out, frame, curve, unit);
  return out + "</svg>\n</figure>\n";
}

} // namespace hone::rt
