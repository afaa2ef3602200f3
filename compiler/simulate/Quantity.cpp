//===- Quantity.cpp - "100Mbit/s" and "10ms" ------------------------------===//

#include "compiler/simulate/Quantity.h"

#include <cctype>
#include <cstdlib>
#include <initializer_list>

namespace hone::simulate {

namespace {
struct Unit {
  const char *name;
  double size;
};
} // namespace

/// Spaces, signs, hexadecimal and nan, which strtod reads, are no numbers here.
static bool isDecimal(const std::string &text) {
  const char first = text.empty() ? 0 : text[0];
  return (isdigit(static_cast<unsigned char>(first)) || first == '.') &&
         text.find_first_of("xX") == std::string::npos;
}

/// `range` is `least` and `most` in words.
static Result<double> read(const std::string &option, const std::string &text,
                           std::initializer_list<Unit> units, double least,
                           double most, const char *range,
                           const char *example) {
  char *end = nullptr;
  const double number = strtod(text.c_str(), &end);
  for (const Unit &unit : units)
    if (isDecimal(text) && end != text.c_str() &&
        std::string(end) == unit.name && number * unit.size >= least &&
        number * unit.size <= most)
      return number * unit.size;
  std::string names;
  for (const Unit &unit : units)
    names += (names.empty() ? "" : ", ") + std::string(unit.name);
  return Status(ErrorCode::WrongOption, option + " " + text,
                "expects a number and one of " + names + ", " + range,
                std::string("give one such as ") + example);
}

Result<double> readRate(const std::string &option, const std::string &text) {
  return read(option, text,
              {{"bit/s", 1 / 8.0},
               {"kbit/s", 1e3 / 8},
               {"Mbit/s", 1e6 / 8},
               {"Gbit/s", 1e9 / 8},
               {"B/s", 1},
               {"kB/s", 1e3},
               {"MB/s", 1e6},
               {"GB/s", 1e9}},
              1 / 8.0, 1e15, "from 1bit/s to 1000000GB/s", "100Mbit/s");
}

Result<double> readSeconds(const std::string &option, const std::string &text) {
  return read(option, text, {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}, 0, 3600,
              "from 0s to 3600s", "10ms");
}

} // namespace hone::simulate
