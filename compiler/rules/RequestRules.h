//===- RequestRules.h - Rules for a request to compile --------------------===//
//
// All is checked before any work, so that nothing fails at its end.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/driver/Compile.h"
#include "targets/Target.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace hone {

/// Refuses options of a kind of output that is not asked for. Errors:
/// OptionsDisagree.
Status checkRequest(const CompileRequest &request);

/// Checks that a device is not asked for options that only processors have.
/// Errors: OptionsDisagree.
Status checkDevice(const CompileRequest &request, const Spec &spec,
                   Program program, const Target &target);

/// Refuses options that parts in programs of their own do not have.
/// Errors: OptionsDisagree.
Status checkPrograms(const CompileRequest &request, const Spec &spec);

/// That the output can take its place. Errors: CannotCreate.
Status checkOutput(const CompileRequest &request);

/// That no file which is read is replaced. Errors: CannotCreate.
Status checkInputsStay(const CompileRequest &request, const Spec &spec);

/// The error of an output that is not written.
Status cannotWrite(const std::string &path, const std::string &why);

/// The error of an object file, which is made in the folder of temporary files.
Status cannotMakeObject(const std::string &why);

/// The error of a module that cannot be loaded: that of its object file where
/// `error` is the system's, or else `other` of its message.
Status cannotLoad(llvm::Error error,
                  llvm::function_ref<Status(const std::string &why)> other);

} // namespace hone
