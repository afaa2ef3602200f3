//===- CompareLosses.cpp - A training log against golden losses -----------===//
//
// compare-losses LOG.jsonl FIGURES.json TOLERANCE
// compare-losses LOG.jsonl FIGURES.json RATIO LIST
//
// Exit 1 unless the log has every step of the figures' "float32" losses, each
// within TOLERANCE (absolute), and prints the largest difference; or unless the
// root mean square of all differences is at most RATIO times that of the
// figures' LIST.
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
  bool isRatio = argc == 5;
  if (argc != 4 && !isRatio) {
    std::fprintf(stderr, "usage: compare-losses LOG FIGURES TOLERANCE\n"
                         "       compare-losses LOG FIGURES RATIO LIST\n");
    return 2;
  }
  MappedFile log = require(MappedFile::open(argv[1]));
  MappedFile text = require(MappedFile::open(argv[2]));
  Json figures =
      require(Json::parse(std::string_view(text.data(), text.size()), argv[2]));
  const std::vector<Json> &expected = figures.find("float32")->array();

  size_t step = 0;
  double largest = 0, squares = 0;
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
    squares += difference * difference;
  }
  bool isWhole = step == expected.size() && step > 0;
  if (isRatio) {
    const std::vector<Json> &theirs = figures.find(argv[4])->array();
    double theirSquares = 0;
    for (size_t i = 0; i < theirs.size(); ++i)
      theirSquares += std::pow(theirs[i].number() - expected[i].number(), 2);
    double ratio = std::sqrt(squares / theirSquares);
    bool holds = isWhole && ratio <= std::atof(argv[3]);
    std::printf("%zu of %zu losses, RMS difference %.2e, %.2f times that of "
                "%s: %s\n",
                step, expected.size(), std::sqrt(squares / double(step)), ratio,
                argv[4], holds ? "within the ratio" : "BEYOND THE RATIO");
    return holds ? 0 : 1;
  }
  bool holds = isWhole && largest <= std::atof(argv[3]);
  std::printf("%zu of %zu losses, largest difference %.2e: %s\n", step,
              expected.size(), largest,
              holds ? "within the tolerance" : "BEYOND THE TOLERANCE");
  return holds ? 0 : 1;
}
