// RUN: hone-opt %s --verify-diagnostics --hone-schedule-update

// What the pass defines must not be there.
module @update_is_taken {
  // expected-error @+1 {{'hone.block' op has the name '@update', which scheduling defines; give it another name}}
  hone.block @update() {
    hone.return
  }
}
