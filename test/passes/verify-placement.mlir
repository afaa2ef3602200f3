// RUN: hone-opt %s --hone-verify-placement | FileCheck %s

// A module whose buffers are apart is accepted and left as it is. The cases of
// verify-placement-invalid.mlir are this module with one slot broken.
// CHECK-LABEL: module @placed
module @placed attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 1>]} : tensor<?x4xf32>
    %z = hone.add %y, %y {hone.slots = [#hone.slot<offset = 256, bytes = 256, first = 1, last = 1>]} : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss(%x: tensor<?x4xf32>) {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 64, bytes = 512, first = 1, last = 1>} : (tensor<?x4xf32>) -> ()
  }
}
