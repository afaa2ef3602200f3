// RUN: hone-opt %s --hone-offload-inputs=inputs=9 | FileCheck %s
// RUN: hone-opt %s --hone-offload-inputs=inputs=1 | FileCheck %s --check-prefix=ONE
// RUN: hone-opt %s --hone-offload-inputs=inputs=9 --hone-place \
// RUN:   --hone-verify-placement | FileCheck %s --check-prefix=PLACED

// The input of a block, and a block's kept values, rest in the file from their
// last use in the forward to their first in the backward; values that are read
// again soon stay, and so do narrow ones.

module attributes {hone.max_rows = 256 : i64} {

hone.block @start() -> tensor<?x16xf32> {
  %x = hone.input "hidden" : tensor<?x16xf32>
  %y = hone.add %x, %x : tensor<?x16xf32>
  hone.return %y : tensor<?x16xf32>
}

hone.block @layer(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %y = hone.add %x, %x : tensor<?x16xf32>
  hone.return %y : tensor<?x16xf32>
}

hone.block @keeping(%x: tensor<?x16xf32>)
    -> (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x1xbf16>) {
  %y = hone.add %x, %x : tensor<?x16xf32>
  %z = hone.add %y, %x : tensor<?x16xf32>
  %w = hone.input "narrow" : tensor<?x1xbf16>
  %v = hone.add %w, %w : tensor<?x1xbf16>
  hone.return %y, %z, %v : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x1xbf16>
}

hone.block @backward(%x: tensor<?x16xf32>, %d: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %y = hone.add %x, %d : tensor<?x16xf32>
  hone.return %y : tensor<?x16xf32>
}

hone.block @backward.keeping(
    %x: tensor<?x16xf32>, %d: tensor<?x16xf32>, %v: tensor<?x1xbf16>)
    -> tensor<?x16xf32> {
  %y = hone.add %x, %d : tensor<?x16xf32>
  hone.return %y : tensor<?x16xf32>
}

// CHECK-LABEL: hone.entry gradient @gradient
// ONE-LABEL: hone.entry gradient @gradient
// PLACED-LABEL: hone.entry gradient @gradient
hone.entry gradient @gradient() -> tensor<?x16xf32> {
  // CHECK-NEXT: %[[X0:.*]] = hone.call @start
  // CHECK-NEXT: hone.offload %[[X0]] to 0
  // ONE-COUNT-1: hone.offload
  // ONE-NOT: hone.offload
  %0 = hone.call @start "" () : () -> tensor<?x16xf32>
  // CHECK-NEXT: %[[X1:.*]]:3 = hone.call @keeping "0."(%[[X0]])
  // CHECK-NEXT: hone.offload %[[X1]]#0 to 16384
  // CHECK-NEXT: hone.offload %[[X1]]#1 to 32768
  // CHECK-NEXT: hone.await %[[X0]]
  %1:3 = hone.call @keeping "0." (%0)
    : (tensor<?x16xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x1xbf16>)
  // CHECK-NEXT: hone.call @layer "1."(%[[X1]]#0)
  // CHECK-DAG: hone.await %[[X1]]#0
  // CHECK-DAG: hone.await %[[X1]]#1
  %2 = hone.call @layer "1." (%1#0) : (tensor<?x16xf32>) -> tensor<?x16xf32>
  // The next backward reads it: there is no time to rest.
  // CHECK-NEXT: %[[X3:.*]] = hone.call @layer "2."
  // CHECK-NEXT: %[[R1:.*]] = hone.reload 16384
  %3 = hone.call @layer "2." (%2) : (tensor<?x16xf32>) -> tensor<?x16xf32>
  // CHECK-NEXT: %[[D2:.*]] = hone.call @backward "2."(%{{.*}}, %[[X3]])
  %4 = hone.call @backward "2." (%2, %3) : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  // CHECK-NEXT: %[[R0:.*]] = hone.reload 0
  // CHECK-NEXT: hone.await %[[R1]]
  // CHECK-NEXT: %[[D1:.*]] = hone.call @backward "1."(%[[R1]], %[[D2]])
  %5 = hone.call @backward "1." (%1#0, %4) : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  // CHECK-NEXT: hone.await %[[R0]]
  // The values kept for the next call are read beside this one.
  // CHECK-NEXT: %[[K:.*]] = hone.reload 32768
  // CHECK-NEXT: %[[D0:.*]] = hone.call @backward "0."(%[[R0]], %[[D1]])
  %6 = hone.call @backward "0." (%0, %5) : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  // CHECK-NEXT: hone.await %[[K]]
  // CHECK-NEXT: hone.call @backward.keeping "0."(%[[K]], %[[D0]], %[[X1]]#2)
  %7 = hone.call @backward.keeping "0." (%1#1, %6, %1#2)
    : (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x1xbf16>) -> tensor<?x16xf32>
  // PLACED: hone.reload 16384 {{.*}}hone.slots
  hone.return %7 : tensor<?x16xf32>
}

}
