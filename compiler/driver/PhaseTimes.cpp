//===- PhaseTimes.cpp - Where a compilation's time goes -------------------===//

#include "compiler/driver/PhaseTimes.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;

void PhaseTimes::begin(llvm::StringRef phase) {
  phases.push_back({phase.str(), llvm::TimeRecord::getCurrentTime()});
}

std::string PhaseTimes::finish() {
  begin("total");
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "phase          wall s     CPU s\n";
  auto print = [&](const Phase &phase, llvm::TimeRecord spent) {
    spent -= phase.began;
    os << llvm::format("%-10s %10.2f %9.2f\n", phase.name.c_str(),
                       spent.getWallTime(), spent.getProcessTime());
  };
  for (size_t i = 0; i + 1 < phases.size(); ++i)
    print(phases[i], phases[i + 1].began);
  llvm::TimeRecord end = phases.back().began;
  phases.back().began = phases.front().began;
  print(phases.back(), end);
  phases.clear();
  return text;
}
