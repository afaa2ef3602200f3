//===- LongSamples.cpp - Samples that are longer than the length ----------===//

#include "compiler/hone/LongSamples.h"

#include "base/Counted.h"
#include "compiler/hone/RunChoice.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;

LongSamples LongSamples::of(const SampleLengths &lengths, int64_t length,
                            bool areSplit, int64_t positions) {
  return {length,    lengths.longerThan(length), lengths.count(),
          positions, usualLength(lengths),       areSplit};
}

double LongSamples::share() const {
  return all == 0 ? 0 : 100.0 * double(longer) / double(all);
}

std::string LongSamples::text() const {
  return llvm::formatv(
      "{0} of {1} ({2:f1} %) {3} longer than {4} tokens and {5}", longer,
      rt::counted(all, "sample"), share(), rt::plural(longer, "is", "are"),
      length, areSplit ? "split" : "left out");
}

Status hone::sayLongSamples(const std::string &specPath,
                            const std::vector<SpecOverride> &overrides,
                            const DataReading &reading,
                            const std::string &data) {
  HONE_ASSIGN(const Spec spec, readSpec(specPath, overrides));
  if (spec.isMlir())
    return Status(ErrorCode::OptionsDisagree, "--data",
                  "a model in an .mlir file has no tokenizer to read it with",
                  "leave --data out");
  HONE_ASSIGN(const DataSurvey survey,
              DataSurvey::make(spec.model, {data, false, "", 0, reading,
                                            spec.chat_template}));
  sayLonger(LongSamples::of(survey.lengths(), spec.train.max_seq_length,
                            survey.canSplit()));
  return Status::ok();
}

void hone::sayLonger(const LongSamples &samples) {
  if (samples.longer == 0)
    return;
  if (!samples.isLoud()) {
    llvm::outs() << llvm::formatv("{0,-13}{1}\n", "longer", samples.text());
    return;
  }
  llvm::errs() << "warning: " << samples.text() << "\n  help: ";
  if (samples.positions > 0 && samples.usual > samples.positions)
    llvm::errs() << "the model reads at most " << samples.positions
                 << " tokens; split these samples, or choose another model\n";
  else
    llvm::errs() << "add --set train.max_seq_length=" << samples.usual
                 << " for 99 % of them, which takes more memory and time\n";
}
