//===- Svg.cpp - Lines and letters of a picture ---------------------------===//

#include "program/Svg.h"

#include "base/Utf8.h"

#include <cmath>
#include <cstdio>

namespace hone::rt::svg {

std::string escape(std::string_view text) {
  std::string out;
  appendEscaped(out, text);
  return out;
}

void appendEscaped(std::string &out, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    size_t length = utf8SequenceLength(text, at);
    const std::string_view character = text.substr(at, length);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      length = 1;
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') ||
               c == 0x7f) {
      char code[8];
      snprintf(code, sizeof(code), "\\x%02x", unsigned(c));
      out += code;
    } else if (character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf" ||
               (length == 2 && c == '\xc2' &&
                static_cast<unsigned char>(character[1]) < 0xa0)) {
      out += "\xef\xbf\xbd"; // no XML has these, or they steer a display
    } else {
      out += character;
    }
    at += length;
  }
}

void line(std::string &out, double x1, double y1, double x2, double y2,
          const char *style) {
  char text[192];
  snprintf(text, sizeof(text),
           "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1,
           y1, x2, y2, style);
  out += text;
}

void dot(std::string &out, double x, double y, double radius,
         const char *style) {
  char text[128];
  snprintf(text, sizeof(text),
           "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" %s/>\n", x, y, radius,
           style);
  out += text;
}

void label(std::string &out, double x, double y, std::string_view text,
           const char *anchor, const char *style) {
  char begin[160];
  snprintf(begin, sizeof(begin),
           "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s%s>", x, y, anchor,
           *style ? " " : "", style);
  out += begin;
  appendEscaped(out, text);
  out += "</text>\n";
}

std::vector<double> ticks(double low, double high, int wanted) {
  std::vector<double> out;
  out.reserve(2 * size_t(wanted) + 1);
  const double rough = (high - low) / wanted;
  if (!(rough > 0) || !std::isfinite(rough))
    return out;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double times = rough / power;
  const double every = power * (times > 5   ? 10
                                : times > 2 ? 5
                                : times > 1 ? 2
                                            : 1);
  // Counted, not added up: rounding would show, and could go on for ever.
  const double first = std::ceil(low / every - 1e-9);
  for (int i = 0; i <= 2 * wanted; ++i) {
    double tick = (first + i) * every;
    if (tick > high + 1e-9 * every)
      break;
    out.push_back(tick);
  }
  return out;
}

} // namespace hone::rt::svg
