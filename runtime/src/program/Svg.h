//===- Svg.h - Lines and letters of a picture -----------------------------===//
//
// What the plots of this folder are drawn with. `style` is attributes, such as
// class="grid" or stroke="#d8d8d8".
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_PROGRAM_SVG_H
#define HONE_RUNTIME_PROGRAM_SVG_H

#include <string>
#include <string_view>
#include <vector>

namespace hone::rt::svg {

/// `text` so that HTML and XML read it as text, whatever is in it: markup is
/// escaped, other control characters than line ends are shown as \xNN, and what
/// is not UTF-8 becomes U+FFFD.
std::string escape(std::string_view text);
void appendEscaped(std::string &out, std::string_view text);

void line(std::string &out, double x1, double y1, double x2, double y2,
          const char *style);
void dot(std::string &out, double x, double y, double radius,
         const char *style);
/// `anchor` is start, middle or end; `text` is escaped here.
void label(std::string &out, double x, double y, std::string_view text,
           const char *anchor, const char *style = "");

/// Between `low` and `high`, about `wanted` round numbers; `low` is below.
std::vector<double> ticks(double low, double high, int wanted);

} // namespace hone::rt::svg

#endif
