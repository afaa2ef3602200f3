// RUN: hone-opt %s --split-input-file --verify-diagnostics

hone.entry @offload_c1(%x: tensor<8xf32>) {
  // expected-error @+1 {{'hone.offload' op expects rows in the first dimension alone but got 'tensor<8xf32>'}}
  hone.offload %x to 0 : tensor<8xf32>
  hone.await %x : tensor<8xf32>
}

// -----

hone.entry @offload_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'hone.offload' op expects an offset that is a multiple of 4096 and not negative, but got 64}}
  hone.offload %x to 64 : tensor<?x8xf32>
  hone.await %x : tensor<?x8xf32>
}

// -----

hone.entry @offload_c3(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'hone.offload' op expects a 'hone.await' of 'x' after it}}
  hone.offload %x to 0 : tensor<?x8xf32>
}

// -----

hone.entry @reload_c1(%x: tensor<?x8xf32>) {
  hone.offload %x to 0 : tensor<?x8xf32>
  hone.await %x : tensor<?x8xf32>
  // expected-error @+1 {{'hone.reload' op expects a 'hone.offload' of a 'tensor<?x8xf32>' to 4096 before it}}
  %y = hone.reload 4096 : tensor<?x8xf32>
  hone.await %y : tensor<?x8xf32>
}

// -----

hone.entry @reload_c1_type(%x: tensor<?x8xf32>) {
  hone.offload %x to 0 : tensor<?x8xf32>
  hone.await %x : tensor<?x8xf32>
  // expected-error @+1 {{'hone.reload' op expects a 'hone.offload' of a 'tensor<?x4xf32>' to 0 before it}}
  %y = hone.reload 0 : tensor<?x4xf32>
  hone.await %y : tensor<?x4xf32>
}

// -----

hone.block @use(%x: tensor<?x8xf32>) {
  hone.return
}

hone.entry @reload_c2(%x: tensor<?x8xf32>) {
  hone.offload %x to 0 : tensor<?x8xf32>
  hone.await %x : tensor<?x8xf32>
  // expected-error @+1 {{'hone.reload' op expects 'hone.await' to use the result first}}
  %y = hone.reload 0 : tensor<?x8xf32>
  hone.call @use "" (%y) : (tensor<?x8xf32>) -> ()
  hone.await %y : tensor<?x8xf32>
}

// -----

hone.entry @await_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'hone.await' op expects 'x' to be offloaded or reloaded}}
  hone.await %x : tensor<?x8xf32>
}
