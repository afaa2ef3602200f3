//===- ModelLibrary.cpp - A model for programs that call hone.h -----------===//

#include "compiler/emit/ModelLibrary.h"

#include "base/OutputFile.h"
#include "compiler/rules/RequestRules.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Triple.h"

using namespace hone;

ModelLibrary ModelLibrary::inFolder(llvm::StringRef folder) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  while (!path.empty() && llvm::sys::path::is_separator(path.back()))
    path.pop_back();
  std::string name = llvm::sys::path::filename(path).str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return {name};
}

std::string ModelLibrary::symbolOf(llvm::StringRef program) const {
  return "hone_" + name + (program == "train" ? "" : ("_" + program).str());
}

std::string
ModelLibrary::headerText(llvm::ArrayRef<std::string> symbols) const {
  std::string text = "/* What honec compiled, in " + archive() +
                     ": to be given to hone_open(). */\n"
                     "#pragma once\n\n"
                     "#include <hone/hone.h>\n\n"
                     "#ifdef __cplusplus\n"
                     "extern \"C\" {\n"
                     "#endif\n\n";
  for (const std::string &symbol : symbols)
    text += "extern const hone_module " + symbol + ";\n";
  return text + "\n#ifdef __cplusplus\n}\n#endif\n";
}

std::string ModelLibrary::moduleMap() const {
  return "module " + name + " {\n  header \"" + header() + "\"\n  link \"" +
         name + "\"\n  export *\n}\n";
}

Status hone::writeArchive(const std::string &path,
                          llvm::ArrayRef<std::string> members,
                          const Target &target) {
  std::vector<llvm::NewArchiveMember> files;
  const char *names[] = {"model.o", "generate.o"};
  for (auto [member, name] : llvm::zip(members, names)) {
    llvm::Expected<llvm::NewArchiveMember> file =
        llvm::NewArchiveMember::getFile(member, /*Deterministic=*/true);
    if (!file)
      return cannotWrite(path, llvm::toString(file.takeError()));
    file->MemberName = name; // not that of a temporary
    files.push_back(std::move(*file));
  }
  const llvm::Triple triple(target.request().triple);
  const auto kind = triple.isOSDarwin() ? llvm::object::Archive::K_DARWIN
                                        : llvm::object::Archive::K_GNU;
  auto archive = llvm::writeArchiveToBuffer(
      files, llvm::SymtabWritingMode::NormalSymtab, kind,
      /*Deterministic=*/true, /*Thin=*/false);
  if (!archive)
    return cannotWrite(path, llvm::toString(archive.takeError()));
  return rt::writeFile(path, (*archive)->getBuffer());
}
