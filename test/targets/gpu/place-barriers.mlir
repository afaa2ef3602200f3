// RUN: hone-opt %s --allow-unregistered-dialect --pass-pipeline="builtin.module(gpu.module(gpu.func(hone-gpu-place-barriers)))" | FileCheck %s --enable-var-scope

gpu.module @device {
// Memory that others may have written.
// CHECK-LABEL: gpu.func @write_read
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK-NEXT: memref.load
gpu.func @write_read(%x: memref<256xf32>, %y: memref<256xf32>) kernel {
  %t = gpu.thread_id x
  %zero = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  memref.store %v, %x[%t] : memref<256xf32>
  %w = memref.load %x[%zero] : memref<256xf32>
  gpu.return
}

// Memory that others may still read.
// CHECK-LABEL: gpu.func @read_write
// CHECK: memref.load
// CHECK: gpu.barrier
// CHECK-NEXT: memref.store
gpu.func @read_write(%x: memref<256xf32>) kernel {
  %t = gpu.thread_id x
  %zero = arith.constant 0 : index
  %w = memref.load %x[%zero] : memref<256xf32>
  memref.store %w, %x[%t] : memref<256xf32>
  gpu.return
}

// Reads alone, and shared buffers that have nothing to do with each other.
// CHECK-LABEL: gpu.func @unrelated
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
gpu.func @unrelated(%x: memref<256xf32>)
    workgroup(%a : memref<256xf32, #gpu.address_space<workgroup>>,
              %b : memref<256xf32, #gpu.address_space<workgroup>>) kernel {
  %t = gpu.thread_id x
  %v = memref.load %x[%t] : memref<256xf32>
  %w = memref.load %x[%t] : memref<256xf32>
  memref.store %v, %a[%t] : memref<256xf32, #gpu.address_space<workgroup>>
  memref.store %w, %b[%t] : memref<256xf32, #gpu.address_space<workgroup>>
  gpu.return
}

// One thread keeps its own order.
// CHECK-LABEL: gpu.func @first_alone
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
gpu.func @first_alone(%x: memref<256xf32>, %v: f32) kernel {
  %t = gpu.thread_id x
  %zero = arith.constant 0 : index
  %first = arith.cmpi eq, %t, %zero : index
  scf.if %first {
    memref.store %v, %x[%zero] : memref<256xf32>
  }
  scf.if %first {
    memref.store %v, %x[%zero] : memref<256xf32>
  }
  gpu.return
}

// Memory that the turn before has read.
// CHECK-LABEL: gpu.func @around
// CHECK: scf.for
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.store
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.load
gpu.func @around(%n: index, %v: f32)
    workgroup(%a : memref<256xf32, #gpu.address_space<workgroup>>) kernel {
  %t = gpu.thread_id x
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    memref.store %v, %a[%t] : memref<256xf32, #gpu.address_space<workgroup>>
    %w = memref.load %a[%i] : memref<256xf32, #gpu.address_space<workgroup>>
  }
  gpu.return
}

// Code of a subgroup has barriers of its own.
// CHECK-LABEL: gpu.func @subgroups
// CHECK: scf.for
// CHECK: memref.store
// CHECK-NOT: gpu.barrier
// CHECK: nvvm.bar.warp.sync
// CHECK: memref.load
// CHECK: }
// CHECK: gpu.barrier
// CHECK-NEXT: memref.load
gpu.func @subgroups(%n: index, %v: f32)
    workgroup(%a : memref<256xf32, #gpu.address_space<workgroup>>) kernel {
  %s = gpu.subgroup_id : index
  %l = gpu.lane_id
  %eight = arith.constant 8 : index
  scf.for %i = %s to %n step %eight {
    memref.store %v, %a[%l] : memref<256xf32, #gpu.address_space<workgroup>>
    %w = memref.load %a[%i] : memref<256xf32, #gpu.address_space<workgroup>>
  }
  %u = memref.load %a[%n] : memref<256xf32, #gpu.address_space<workgroup>>
  gpu.return
}

// Straight code of a thread alone has none, and is a region no more.
// CHECK-LABEL: gpu.func @alone
// CHECK-NOT: scf.execute_region
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
gpu.func @alone(%x: memref<256xf32>) kernel {
  %t = gpu.thread_id x
  scf.execute_region {
    %v = memref.load %x[%t] : memref<256xf32>
    memref.store %v, %x[%t] : memref<256xf32>
    scf.yield
  }
  gpu.return
}

// An op that does not say what it accesses may access all that others do, in
// the device's memory and in shared buffers; first alone, a thread has an order.
// CHECK-LABEL: gpu.func @unknown
// CHECK: memref.store
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: "test.unknown"
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.load
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: "test.unknown"
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: "test.unknown"
gpu.func @unknown(%x: memref<256xf32>, %v: f32)
    workgroup(%a : memref<256xf32, #gpu.address_space<workgroup>>) kernel {
  %t = gpu.thread_id x
  memref.store %v, %x[%t] : memref<256xf32>
  "test.unknown"() : () -> ()
  %u = memref.load %a[%t] : memref<256xf32, #gpu.address_space<workgroup>>
  "test.unknown"() : () -> ()
  "test.unknown"() : () -> ()
  gpu.return
}

// CHECK-LABEL: gpu.func @unknown_of_first
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
gpu.func @unknown_of_first(%x: memref<256xf32>, %v: f32) kernel {
  %t = gpu.thread_id x
  %zero = arith.constant 0 : index
  %first = arith.cmpi eq, %t, %zero : index
  scf.if %first {
    memref.store %v, %x[%t] : memref<256xf32>
  }
  scf.if %first {
    "test.unknown"() : () -> ()
  }
  gpu.return
}

// Nor is what it gives the same in all threads: a barrier in the branch might
// wait for ever.
// CHECK-LABEL: gpu.func @unknown_control
// CHECK: "test.unknown"
// CHECK: scf.if
// CHECK-NEXT: memref.store
// CHECK-NEXT: memref.load
// CHECK: scf.if
// CHECK-NEXT: memref.store
// CHECK-NEXT: memref.load
gpu.func @unknown_control(%v: f32)
    workgroup(%a : memref<256xf32, #gpu.address_space<workgroup>>) kernel {
  %t = gpu.thread_id x
  %zero = arith.constant 0 : index
  %unknown = "test.unknown"() : () -> i1
  scf.if %unknown {
    memref.store %v, %a[%t] : memref<256xf32, #gpu.address_space<workgroup>>
    %w = memref.load %a[%zero] : memref<256xf32, #gpu.address_space<workgroup>>
  }
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %one = arith.constant 1 : i32
  %second = arith.cmpi eq, %lane, %one : i32
  scf.if %second {
    memref.store %v, %a[%t] : memref<256xf32, #gpu.address_space<workgroup>>
    %w = memref.load %a[%zero] : memref<256xf32, #gpu.address_space<workgroup>>
  }
  gpu.return
}
}
