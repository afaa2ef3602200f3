// RUN: hone-opt %s --verify-diagnostics --hone-schedule-step="optimizer=lion"

// An unknown optimizer is an error that lists the known ones.
// expected-error @+1 {{expects optimizer to be one of sgd, sgd_momentum, adamw but got 'lion'}}
module @optimizer_is_known {
}
