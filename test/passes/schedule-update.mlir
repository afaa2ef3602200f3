// RUN: hone-opt %s --hone-schedule-update | FileCheck %s --enable-var-scope --check-prefix=ADAMW
// RUN: hone-opt %s --hone-schedule-update="optimizer=adamw" | FileCheck %s --enable-var-scope --check-prefix=ADAMW
// RUN: hone-opt %s --hone-schedule-update="optimizer=sgd" | FileCheck %s --enable-var-scope --check-prefix=SGD
// RUN: hone-opt %s --hone-schedule-update="optimizer=sgd_momentum" | FileCheck %s --enable-var-scope --check-prefix=MOMENTUM

// Each optimizer is one op whose scalars are inputs of the step, by name:
// rates and corrections are run-time values, the method is compiled in.

// ADAMW-LABEL: hone.entry @update
// ADAMW-DAG: %[[SCALE:.*]] = hone.input "gradient_scale" : tensor<f64>
// ADAMW-DAG: %[[RATE:.*]] = hone.input "learning_rate" : tensor<f64>
// ADAMW-DAG: %[[DECAY:.*]] = hone.input "weight_decay" : tensor<f64>
// ADAMW-DAG: %[[BETA1:.*]] = hone.input "beta1" : tensor<f64>
// ADAMW-DAG: %[[BETA2:.*]] = hone.input "beta2" : tensor<f64>
// ADAMW-DAG: %[[EPSILON:.*]] = hone.input "epsilon" : tensor<f64>
// ADAMW-DAG: %[[C1:.*]] = hone.input "bias_correction1" : tensor<f64>
// ADAMW-DAG: %[[C2:.*]] = hone.input "bias_correction2" : tensor<f64>
// ADAMW: hone.adamw %[[SCALE]], %[[RATE]], %[[DECAY]], %[[BETA1]], %[[BETA2]], %[[EPSILON]], %[[C1]], %[[C2]]

// SGD-LABEL: hone.entry @update
// SGD-DAG: %[[SCALE:.*]] = hone.input "gradient_scale" : tensor<f64>
// SGD-DAG: %[[RATE:.*]] = hone.input "learning_rate" : tensor<f64>
// SGD-DAG: %[[DECAY:.*]] = hone.input "weight_decay" : tensor<f64>
// SGD-NOT: hone.input "momentum"
// SGD: hone.sgd %[[SCALE]], %[[RATE]], %[[DECAY]]{{$}}

// MOMENTUM-LABEL: hone.entry @update
// MOMENTUM-DAG: %[[SCALE:.*]] = hone.input "gradient_scale" : tensor<f64>
// MOMENTUM-DAG: %[[RATE:.*]] = hone.input "learning_rate" : tensor<f64>
// MOMENTUM-DAG: %[[DECAY:.*]] = hone.input "weight_decay" : tensor<f64>
// MOMENTUM-DAG: %[[MOMENTUM:.*]] = hone.input "momentum" : tensor<f64>
// MOMENTUM: hone.sgd %[[SCALE]], %[[RATE]], %[[DECAY]] momentum %[[MOMENTUM]]
module {
}
