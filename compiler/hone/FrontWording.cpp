//===- FrontWording.cpp - Messages of other programs, in hone's words -----===//
//
// Here are only words that hone's commands have another name for: options of
// train follow `--`, and keep theirs.
//
//===----------------------------------------------------------------------===//

#include "compiler/hone/FrontWording.h"

#include "base/Wording.h"
#include "compiler/hone/Finetune.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

#include <cstdlib>

using namespace hone;
using llvm::StringRef;
using Words = std::vector<rt::Wording::Word>;

/// Of all commands.
static const Words ofAll = {
    {"honec --explain", "hone explain"},
    {"see honec --help-spec", "see hone keys"},
    {"`honec --help-spec`", "`hone keys`"},
    {"honec's first argument is a YAML file", "a spec is a YAML file"},
    {"--explain", "explain"},
    {"honec wrote", "hone wrote"},
    {"the honec of this runtime", "this hone"},
    {"hone-adapter merge", "hone merge"},
    {"give another --dtype", "give hone-adapter merge another --dtype"},
    {"--output", "-o"},
    {"this program was compiled from a model folder without a",
     "the model's folder has no"},
    {"copy the file again from where it was compiled, or compile again",
     "remove the folder that it is in, so that hone compiles again"},
};

/// Of commands that are given a run or begin one.
static const Words ofRuns = {
    {"usage: train --data FILE --output DIR [options]",
     "hone finetune MODEL DATA -- [options of train]"},
    {"--help lists the options",
     "hone finetune MODEL DATA -- --help lists them"},
    {"--data", "DATA"},
    {"--eval-only", "hone evaluate"},
    {"compile with --set", "give --set"},
    {"compile with", "begin another run (-o, --set) with"},
    {"compile it with", "begin another run (-o, --set) with"},
    {"in the spec and compile again", "with --set in another run (-o)"},
    {"compile as for that run", "use the machine and the Hone of that run"},
    {"compile from a folder with", "use a model's folder with"},
    {"compile it from a folder with", "use a model's folder with"},
    {"compile a model with", "use a model with"},
};

static const Words ofData = {
    {"compile with --set chat_template=plain", "give --chat-template plain"},
    {"compile with a larger max_seq_length", "give a larger --max-seq-length"},
    {"compile it from a folder with", "use a model's folder with"},
    {"compile a model with", "use a model with"},
};

/// Of a program that generates text from `source`. Its section may change:
/// training reads nothing of it.
static Words ofTexts(StringRef source) {
  std::string spec = source.str();
  if (llvm::sys::fs::exists(spec + "/" + kRunSpec))
    spec += std::string("/") + kRunSpec;
  const bool isModel = llvm::sys::fs::is_directory(spec);
  if (StringRef(spec).find_first_of("=\n") != StringRef::npos)
    spec = "its spec"; // as Wording::text() needs it
  const std::string give =
      isModel ? "write a spec with hone init, with" : "give " + spec;
  return {
      {"usage: generate --prompt", "usage: hone generate RUN --prompt"},
      {"generate --chat [options]", "hone chat RUN [options]"},
      {"leave it out, or compile from the folder of the model's chat version",
       "use the folder of the model's chat version, or a spec of hone init "
       "with a chat_template"},
      {"give --adapter DIR, or leave it out",
       "give the folder of a run, or leave it out"},
      {"compile with", give},
      {"compile it with", give},
      {"in the spec and compile again",
       isModel ? "in a spec, which hone init writes" : "in " + spec},
      {"compile from a folder with", "use a model's folder with"},
  };
}

void hone::speakAs(StringRef command, StringRef source) {
  Words words = ofAll;
  auto add = [&](const Words &more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (command == "chat" || command == "generate")
    add(ofTexts(source));
  else if (command == "data")
    add(ofData);
  else if (command == "finetune" || command == "evaluate" || command == "init")
    add(ofRuns);
  if (command == "evaluate")
    words.push_back({"--eval-data", "DATA"});
  setenv(rt::Wording::Variable, rt::Wording(std::move(words)).text().c_str(),
         /*overwrite=*/1);
}
