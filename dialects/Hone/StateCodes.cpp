//===- StateCodes.cpp - The values of an optimizer state's bytes ----------===//

#include "dialects/Hone/StateCodes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace hone;

StateCode hone::dynamicStateCode(bool isSigned) {
  std::vector<double> values = {0, 1};
  int parts = isSigned ? 1 : 2;
  for (double scale : {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0}) {
    // Middles of so many equal parts of [0.1, 1].
    auto boundary = [&](int i) { return 0.1 + 0.9 * i / parts; };
    for (int part = 0; part < parts; ++part) {
      double value = scale * ((boundary(part) + boundary(part + 1)) / 2);
      values.push_back(value);
      if (isSigned)
        values.push_back(-value);
    }
    parts *= 2;
  }
  std::sort(values.begin(), values.end());
  StateCode code;
  for (size_t i = 0; i < code.values.size(); ++i) {
    code.values[i] = static_cast<float>(values[i]);
    code.bounds[i] = i + 1 < values.size()
                         ? static_cast<float>((values[i] + values[i + 1]) / 2)
                         : std::numeric_limits<float>::infinity();
  }
  if (!isSigned)
    code.bounds[0] = 0;
  return code;
}
