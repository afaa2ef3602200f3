// RUN: hone-opt %s --hone-offload-inputs=inputs=9 | FileCheck %s
// RUN: hone-opt %s --hone-offload-inputs=inputs=1 | FileCheck %s --check-prefix=ONE
// RUN: hone-opt %s --hone-offload-inputs=inputs=9 --hone-place \
// RUN:   --hone-verify-placement | FileCheck %s --check-prefix=PLACED

// The input of a block rests in the file from its last use in the forward to its
// first in the backward; what is read again soon stays.

module attributes {hone.max_rows = 256 : i64} {

hone.block @start() -> tensor<?x8xf32> {
  %x = hone.input "hidden" : tensor<?x8xf32>
  %y = hone.add %x, %x : tensor<?x8xf32>
  hone.return %y : tensor<?x8xf32>
}

hone.block @layer(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = hone.add %x, %x : tensor<?x8xf32>
  hone.return %y : tensor<?x8xf32>
}

hone.block @keeping(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %y = hone.add %x, %x : tensor<?x8xf32>
  %z = hone.add %y, %x : tensor<?x8xf32>
  hone.return %y, %z : tensor<?x8xf32>, tensor<?x8xf32>
}

hone.block @backward(%x: tensor<?x8xf32>, %d: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = hone.add %x, %d : tensor<?x8xf32>
  hone.return %y : tensor<?x8xf32>
}

// CHECK-LABEL: hone.entry gradient @gradient
// ONE-LABEL: hone.entry gradient @gradient
// PLACED-LABEL: hone.entry gradient @gradient
hone.entry gradient @gradient() -> tensor<?x8xf32> {
  // CHECK-NEXT: %[[X0:.*]] = hone.call @start
  // CHECK-NEXT: hone.offload %[[X0]] to 0
  // ONE-COUNT-1: hone.offload
  // ONE-NOT: hone.offload
  %0 = hone.call @start "" () : () -> tensor<?x8xf32>
  // CHECK-NEXT: %[[X1:.*]]:2 = hone.call @keeping "0."(%[[X0]])
  // What a block keeps for its own backward is no input.
  // CHECK-NEXT: hone.offload %[[X1]]#0 to 8192
  // CHECK-NEXT: hone.await %[[X0]]
  %1:2 = hone.call @keeping "0." (%0) : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // CHECK-NEXT: hone.call @layer "1."(%[[X1]]#0)
  // CHECK-NEXT: hone.await %[[X1]]#0
  %2 = hone.call @layer "1." (%1#0) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // The next backward reads it: there is no time to rest.
  // CHECK-NEXT: %[[X3:.*]] = hone.call @layer "2."
  // CHECK-NEXT: %[[R1:.*]] = hone.reload 8192
  %3 = hone.call @layer "2." (%2) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK-NEXT: %[[D2:.*]] = hone.call @backward "2."(%{{.*}}, %[[X3]])
  %4 = hone.call @backward "2." (%2, %3) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK-NEXT: %[[R0:.*]] = hone.reload 0
  // CHECK-NEXT: hone.await %[[R1]]
  // CHECK-NEXT: %[[D1:.*]] = hone.call @backward "1."(%[[R1]], %[[D2]])
  %5 = hone.call @backward "1." (%1#0, %4) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK-NEXT: hone.await %[[R0]]
  // CHECK-NEXT: hone.call @backward "0."(%[[R0]], %[[D1]])
  %6 = hone.call @backward "0." (%0, %5) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %7 = hone.call @backward "0." (%1#1, %6) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // PLACED: hone.reload 8192 {{.*}}hone.slots
  hone.return %7 : tensor<?x8xf32>
}

}
