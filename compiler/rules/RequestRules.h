//===- RequestRules.h - What a request to compile must not ask for --------===//
//
// All is checked before any work, so that nothing fails at its end.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_RULES_REQUESTRULES_H
#define HONE_COMPILER_RULES_REQUESTRULES_H

#include "compiler/driver/Compile.h"

namespace hone {

/// Refuses options of a kind of output that is not asked for. Errors:
/// OptionsDisagree.
rt::Status checkRequest(const CompileRequest &request);

/// That the output can take its place. Errors: CannotCreate.
rt::Status checkOutput(const CompileRequest &request);

/// That no file which is read is replaced. Errors: CannotCreate.
rt::Status checkInputsStay(const CompileRequest &request, const Spec &spec);

/// The error of an output that is not written.
rt::Status cannotWrite(const std::string &path, const std::string &why);

} // namespace hone

#endif
