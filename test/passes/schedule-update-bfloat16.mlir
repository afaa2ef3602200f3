// RUN: hone-opt %s --hone-schedule-update="optimizer=adamw" | FileCheck %s --enable-var-scope

// Parameters that are stored as bfloat16 are rounded at random by the update.
// CHECK-LABEL: hone.entry @update
// CHECK: %[[KEY:.*]] = hone.input "rounding_key" : tensor<4xi32>
// CHECK: hone.adamw {{.*}} round %[[KEY]]{{$}}
module {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> stored <bfloat16> : tensor<2x4xf32>
    hone.return
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
  }
}
