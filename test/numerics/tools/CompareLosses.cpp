//===- CompareLosses.cpp - A training log against golden losses -----------===//
//
// compare-losses LOG.jsonl FIGURES.json TOLERANCE
//
// Exit 1 unless the log has every step of the figures' "float32" losses, each
// within TOLERANCE (absolute). Prints the largest difference.
//
//===----------------------------------------------------------------------===//

#include "base/Json.h"
#include "base/MappedFile.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace hone::rt;

template <typename T> static T require(Result<T> result) {
  if (result.isOk())
    return std::move(result.value());
  std::fputs(result.status().render().c_str(), stderr);
  std::exit(1);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: compare-losses LOG FIGURES TOLERANCE\n");
    return 2;
  }
  MappedFile log = require(MappedFile::open(argv[1]));
  MappedFile text = require(MappedFile::open(argv[2]));
  Json figures =
      require(Json::parse(std::string_view(text.data(), text.size()), argv[2]));
  const std::vector<Json> &expected = figures.find("float32")->array();

  size_t step = 0;
  double largest = 0;
  std::string_view rest(log.data(), log.size());
  while (!rest.empty()) {
    size_t end = std::min(rest.find('\n'), rest.size());
    Json line = require(Json::parse(rest.substr(0, end), argv[1]));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const Json *loss = line.find("loss");
    if (!loss || step >= expected.size())
      continue;
    double difference = std::fabs(loss->number() - expected[step++].number());
    largest = difference <= largest ? largest : difference;
  }
  bool holds =
      step == expected.size() && step > 0 && largest <= std::atof(argv[3]);
  std::printf("%zu of %zu losses, largest difference %.2e: %s\n", step,
              expected.size(), largest,
              holds ? "within the tolerance" : "BEYOND THE TOLERANCE");
  return holds ? 0 : 1;
}
