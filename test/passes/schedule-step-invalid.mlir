// RUN: hone-opt %s --verify-diagnostics --hone-schedule-step="optimizer=lion"

// An unknown optimizer is an error that lists the known ones.
// expected-error @+1 {{expects optimizer to be one of sgd, sgd_momentum, adamw, or one of them with _loraplus, but got 'lion'}}
module @optimizer_is_known {
}
