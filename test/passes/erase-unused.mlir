// RUN: hone-opt %s --split-input-file --hone-erase-unused | FileCheck %s --enable-var-scope

// A block that no entry calls is removed.
// CHECK-LABEL: module @uncalled_block_is_removed
// CHECK-NOT: hone.block @unused
// CHECK: hone.block @used
// CHECK-NOT: hone.block @unused
module @uncalled_block_is_removed {
  hone.block @unused() {
    hone.return
  }
  hone.block @used() {
    hone.return
  }
  hone.entry gradient @gradient() {
    hone.call @used "" () : () -> ()
  }
}

// -----

// An entry that no schedule runs is removed, and with it the block that only it
// calls; the entries of all schedules stay.
// CHECK-LABEL: module @entry_that_does_not_run_is_removed
// CHECK-NOT: @unscheduled
// CHECK: hone.entry @trained
// CHECK-NOT: @unscheduled
// CHECK: hone.entry @evaluated
// CHECK-NOT: @unscheduled
module @entry_that_does_not_run_is_removed {
  hone.block @unscheduled.block() {
    hone.return
  }
  hone.block @scheduled() {
    hone.return
  }
  hone.entry @unscheduled() {
    hone.call @unscheduled.block "" () : () -> ()
  }
  hone.entry @trained() {
    hone.call @scheduled "" () : () -> ()
  }
  hone.entry @evaluated() {
    hone.call @scheduled "" () : () -> ()
  }
  hone.schedule train {
    hone.run @trained() : () -> ()
  }
  hone.schedule evaluate {
    hone.run @evaluated() : () -> ()
  }
}
