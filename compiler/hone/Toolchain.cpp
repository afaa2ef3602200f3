//===- Toolchain.cpp - Programs of a spec, compiled or found again --------===//

#include "compiler/hone/Toolchain.h"

#include "base/MappedFile.h"
#include "base/Sha256.h"
#include "compiler/emit/RuntimeArchives.h"
#include "compiler/hone/Machine.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace hone;

CompileRequest Toolchain::requestFor(const ProgramSource &source) const {
  CompileRequest request;
  request.specPath = source.spec;
  request.overrides = source.overrides;
  request.programs = source.programs;
  request.runtimeDir = runtimeFolderOf(self);
  return request;
}

/// All that decides the compiled programs, but for the spec and the model.
Result<std::string> Toolchain::identity() const {
  HONE_ASSIGN(const std::vector<std::string> archives,
              findRuntimeArchives(runtimeFolderOf(self), /*toolchain=*/"",
                                  RuntimeUse::Program));
  std::string out = LLVM_VERSION_STRING " " + Machine::read().processor;
  std::vector<std::string> files{self};
  files.insert(files.end(), archives.begin(), archives.end());
  for (const std::string &path : files) {
    HONE_ASSIGN(const rt::MappedFile file, rt::MappedFile::open(path));
    out += " " + rt::Sha256::hex(file.bytes());
  }
  return out;
}

Result<CachedPrograms> Toolchain::find(const ProgramSource &source,
                                       bool isQuiet) const {
  HONE_ASSIGN(const Spec spec, readSpec(source.spec, source.overrides));
  HONE_ASSIGN(std::string compiler, identity());
  for (Program program : source.programs)
    compiler += " " + nameOf(program);
  HONE_ASSIGN(const std::string key, ProgramCache::keyOf(spec, compiler));
  HONE_ASSIGN(std::string folder, ProgramCache::defaultFolder());
  const auto start = std::chrono::steady_clock::now();
  HONE_ASSIGN(
      CachedPrograms programs,
      ProgramCache(std::move(folder))
          .find(key, [&](const std::string &output) -> Result<std::string> {
            llvm::outs().flush(); // both may go to one place
            llvm::errs() << "compiling " << spec.modelName() << "\n";
            CompileRequest request = requestFor(source);
            request.output = output;
            std::string plan;
            request.planJson = &plan;
            HONE_TRY(compile(request));
            return plan;
          }));
  if (isQuiet && !programs.isNew)
    return programs;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  llvm::outs().flush();
  llvm::errs()
      << (programs.isNew
              ? llvm::formatv("compiled in {0:f1} s, to ", seconds).str()
              : "compiled before, in ")
      << programs.folder << "\n";
  return programs;
}

Status Toolchain::printPlan(const ProgramSource &source,
                            PlanFormat format) const {
  CompileRequest request = requestFor(source);
  request.plan = format;
  return compile(request);
}
