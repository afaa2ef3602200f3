// RUN: hone-opt %s --verify-diagnostics --hone-schedule-update="in-backward=true"

// An update in the backward needs a backward.
// expected-error @+1 {{expects an entry '@gradient'; run hone-derive-backward first}}
module @gradient_is_missing {
}
