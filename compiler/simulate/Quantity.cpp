//===- Quantity.cpp - "100Mbit/s" and "10ms" ------------------------------===//

#include "compiler/simulate/Quantity.h"

#include <cmath>
#include <cstdlib>
#include <initializer_list>

namespace hone::simulate {

namespace {
struct Unit {
  const char *name;
  double size;
};
} // namespace

/// None of a number that is infinite, negative, or without one of the units.
static Result<double> read(const std::string &option, const std::string &text,
                           std::initializer_list<Unit> units, double least,
                           const char *example) {
  char *end = nullptr;
  const double number = strtod(text.c_str(), &end);
  for (const Unit &unit : units)
    if (end != text.c_str() && std::string(end) == unit.name &&
        std::isfinite(number) && number >= least)
      return number * unit.size;
  std::string names;
  for (const Unit &unit : units)
    names += (names.empty() ? "" : ", ") + std::string(unit.name);
  return Status(ErrorCode::WrongOption, option + " " + text,
                "expects a number and one of " + names,
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
              1e-3, "100Mbit/s");
}

Result<double> readSeconds(const std::string &option, const std::string &text) {
  return read(option, text, {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}, 0, "10ms");
}

} // namespace hone::simulate
