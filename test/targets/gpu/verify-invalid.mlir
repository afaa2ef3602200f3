// RUN: hone-opt %s --allow-unregistered-dialect -split-input-file -verify-diagnostics --pass-pipeline="builtin.module(gpu.module(gpu.func(hone-gpu-verify{shared-bytes=1024})))"

// 1
gpu.module @device {
gpu.func @divergent(%n: index) kernel {
  %t = gpu.thread_id x
  %some = arith.cmpi ult, %t, %n : index
  // expected-note @+1 {{which depends on the thread here}}
  scf.if %some {
    // expected-error @+1 {{expects that all threads that it waits for reach it}}
    gpu.barrier
  }
  gpu.return
}
}

// -----

// 1
gpu.module @device {
gpu.func @divergent_groups(%n: index, %a: f32) kernel {
  %t = gpu.thread_id x
  %some = arith.cmpi ult, %t, %n : index
  // expected-note @+1 {{which depends on the thread here}}
  scf.if %some {
    // expected-error @+1 {{expects that all threads that it waits for reach it}}
    %done = simt.finish_groups %a : f32
  }
  gpu.return
}
}

// -----

// 1
gpu.module @device {
gpu.func @divergent_products(%n: index, %x: memref<3x64x64xbf16, #gpu.address_space<workgroup>>, %w: memref<3x2x64xbf16, #gpu.address_space<workgroup>>, %a: f32) kernel {
  %t = gpu.thread_id x
  %some = arith.cmpi ult, %t, %n : index
  // expected-note @+1 {{which depends on the thread here}}
  scf.if %some {
    // expected-error @+1 {{expects that all threads that it waits for reach it}}
    %b = simt.multiply_group %x[%n, %n], %w[%n] to %a goes_on : memref<3x64x64xbf16, #gpu.address_space<workgroup>>, memref<3x2x64xbf16, #gpu.address_space<workgroup>>, f32
  }
  gpu.return
}
}

// -----

// 2
gpu.module @device {
// expected-error @+1 {{needs 2048 bytes of shared memory but a workgroup has at most 1024}}
gpu.func @shared() kernel attributes {tile.shared_bytes = 2048 : i64} {
  gpu.return
}
}

// -----

// 1: what an op gives may differ by thread unless it is known.
gpu.module @device {
gpu.func @lane() kernel {
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %one = arith.constant 1 : i32
  %second = arith.cmpi eq, %lane, %one : i32
  // expected-note @+1 {{which depends on the thread here}}
  scf.if %second {
    // expected-error @+1 {{expects that all threads that it waits for reach it}}
    gpu.barrier
  }
  gpu.return
}
}

// -----

// 3
gpu.module @device {
gpu.func @library(%x: f64) kernel {
  // expected-error @+1 {{has no code for a GPU}}
  %y = math.exp %x : f64
  gpu.return
}
}

// -----

// 3
gpu.module @device {
gpu.func @unregistered() kernel {
  // expected-error @+1 {{has no code for a GPU}}
  "other.op"() : () -> ()
  gpu.return
}
}
