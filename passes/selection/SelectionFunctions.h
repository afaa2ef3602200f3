//===- SelectionFunctions.h - Formulas of selections of layers ------------===//
//
// Which layers a step selects, how many, and what is known of each from the
// steps before: IR, as the formulas of ScalarFunctions.cpp, whose rules they
// follow. docs/methods/lcsb.md has them as formulas.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_SELECTION_SELECTIONFUNCTIONS_H
#define HONE_PASSES_SELECTION_SELECTIONFUNCTIONS_H

namespace hone {

extern const char *const kSelectionFunctions;

} // namespace hone

#endif
