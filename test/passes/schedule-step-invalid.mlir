// RUN: hone-opt %s --verify-diagnostics --test-set-method="optimizer=adagrad" --hone-schedule-step

// An unknown optimizer is an error that lists the known ones.
// expected-error @+1 {{hone.method: expects train.optimizer to be one of adamw, sgd, lion, adamw-8bit, adafactor, sinkgd but got "adagrad"}}
module @optimizer_is_known {
}
