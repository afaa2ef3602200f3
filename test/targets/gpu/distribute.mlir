// RUN: hone-opt %s --allow-unregistered-dialect --pass-pipeline="builtin.module(gpu.module(gpu.func(hone-gpu-distribute)))" | FileCheck %s --enable-var-scope

gpu.module @device {
// Points are dealt out in turn.
// CHECK-LABEL: gpu.func @map
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[STEP:.*]] = arith.constant 256
// CHECK: scf.for %[[E:.*]] = %[[THREAD]] to %{{.*}} step %[[STEP]]
// CHECK: arith.divui %[[E]]
// CHECK: arith.remui %[[E]]
gpu.func @map(%x: memref<8x40xf32>) kernel {
  %m = arith.constant 8 : index
  %n = arith.constant 40 : index
  %one = arith.constant 1.0 : f32
  tile.map (%i, %j) in (%m, %n) {
    memref.store %one, %x[%i, %j] : memref<8x40xf32>
  }
  gpu.return
}

// Of many points a thread has four at once, whose loads do not wait for stores.
// CHECK-LABEL: gpu.func @together
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[TURN:.*]] = arith.constant 1024
// CHECK: scf.for %{{.*}} = %[[THREAD]] to %{{.*}} step %[[TURN]]
// CHECK-COUNT-4: memref.load
// CHECK-COUNT-4: memref.store
// CHECK: scf.for
// CHECK: memref.load
// CHECK-NEXT: memref.store
gpu.func @together(%x: memref<1500xf32>) kernel {
  %n = arith.constant 1500 : index
  tile.map (%i) in (%n) {
    %v = memref.load %x[%i] : memref<1500xf32>
    memref.store %v, %x[%i] : memref<1500xf32>
  }
  gpu.return
}

// A lane of a row has eight.
// CHECK-LABEL: gpu.func @row_together
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-8: memref.load
// CHECK-COUNT-8: memref.store
// CHECK: scf.for
gpu.func @row_together(%x: memref<16x896xf32>) kernel {
  %m = arith.constant 16 : index
  %n = arith.constant 896 : index
  tile.each (%r) in (%m) {
    tile.map (%i) in (%n) {
      %v = memref.load %x[%r, %i] : memref<16x896xf32>
      memref.store %v, %x[%r, %i] : memref<16x896xf32>
    }
  }
  gpu.return
}

// A point that reads its own writes keeps its order.
// CHECK-LABEL: gpu.func @in_order
// CHECK: memref.store
// CHECK-NEXT: memref.load
// CHECK-NEXT: memref.store
// CHECK-NOT: memref.store
// CHECK: gpu.return
gpu.func @in_order(%x: memref<1500xf32>, %y: memref<1500xf32>) kernel {
  %n = arith.constant 1500 : index
  %one = arith.constant 1.0 : f32
  tile.map (%i) in (%n) {
    memref.store %one, %x[%i] : memref<1500xf32>
    %v = memref.load %x[%i] : memref<1500xf32>
    memref.store %v, %y[%i] : memref<1500xf32>
  }
  gpu.return
}

// Terms of a sum are loaded together and added in their order.
// CHECK-LABEL: gpu.func @reduce_together
// CHECK: scf.for {{.*}} iter_args(%[[OLD:.*]] = %{{.*}}) -> (f32)
// CHECK: %[[A:.*]] = memref.load
// CHECK: %[[B:.*]] = memref.load
// CHECK: %[[C:.*]] = memref.load
// CHECK: %[[D:.*]] = memref.load
// CHECK: %[[FIRST:.*]] = arith.addf %[[OLD]], %[[A]]
// CHECK: %[[SECOND:.*]] = arith.addf %[[FIRST]], %[[B]]
// CHECK: %[[THIRD:.*]] = arith.addf %[[SECOND]], %[[C]]
// CHECK: %[[LAST:.*]] = arith.addf %[[THIRD]], %[[D]]
// CHECK: scf.yield %[[LAST]]
gpu.func @reduce_together(%x: memref<1500xf32>, %y: memref<1xf32>) kernel {
  %zero = arith.constant 0 : index
  %n = arith.constant 1500 : index
  %sum = tile.reduce (%i) in (%n) combine [add] : f32 {
    %v = memref.load %x[%i] : memref<1500xf32>
    tile.yield %v : f32
  }
  memref.store %sum, %y[%zero] : memref<1xf32>
  gpu.return
}

// An op of no known dialect is run by all threads alike; in a body, which it may
// read and write memory in, it has its place between loads and stores.
// CHECK-LABEL: gpu.func @unknown
// CHECK-NOT: arith.constant 1024
// CHECK: "test.unknown"() : () -> ()
// CHECK: scf.for
// CHECK: memref.load
// CHECK-NEXT: "test.unknown"(%{{.*}}) : (f32) -> ()
// CHECK-NEXT: memref.store
// CHECK-NOT: scf.for
// CHECK: gpu.return
gpu.func @unknown(%x: memref<1500xf32>) kernel {
  %n = arith.constant 1500 : index
  "test.unknown"() : () -> ()
  tile.map (%i) in (%n) {
    %v = memref.load %x[%i] : memref<1500xf32>
    "test.unknown"(%v) : (f32) -> ()
    memref.store %v, %x[%i] : memref<1500xf32>
  }
  gpu.return
}

// One thread stores the value that all have.
// CHECK-LABEL: gpu.func @scalar
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[VALUE:.*]] = memref.load
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[THREAD]]
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: memref.store %[[VALUE]]
gpu.func @scalar(%x: memref<8xf32>) kernel {
  %i = gpu.block_id x
  %zero = arith.constant 0 : index
  %v = memref.load %x[%i] : memref<8xf32>
  memref.store %v, %x[%zero] : memref<8xf32>
  gpu.return
}

// Lanes, then subgroups in their order.
// CHECK-LABEL: gpu.func @reduce
// CHECK-SAME: workgroup(%[[PARTS:.*]] : memref<8xf32, #gpu.address_space<workgroup>>)
// CHECK: %[[SUBGROUP:.*]] = gpu.subgroup_id
// CHECK: %[[MINE:.*]] = scf.for
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[PARTS]][%[[SUBGROUP]]]
// CHECK: memref.load %[[PARTS]]
// CHECK-COUNT-7: arith.addf
// CHECK-NOT: gpu.shuffle
gpu.func @reduce(%x: memref<8x40xf32>, %y: memref<8xf32>) kernel {
  %i = gpu.block_id x
  %n = arith.constant 40 : index
  %sum = tile.reduce (%j) in (%n) combine [add] : f32 {
    %v = memref.load %x[%i, %j] : memref<8x40xf32>
    tile.yield %v : f32
  }
  memref.store %sum, %y[%i] : memref<8xf32>
  gpu.return
}

// An iteration is a subgroup's: its lanes alone sum, and its first one stores.
// CHECK-LABEL: gpu.func @each
// CHECK: %[[LANE:.*]] = gpu.lane_id
// CHECK: %[[SUBGROUP:.*]] = gpu.subgroup_id
// CHECK: %[[EIGHT:.*]] = arith.constant 8
// CHECK: scf.for %[[I:.*]] = %[[SUBGROUP]] to %{{.*}} step %[[EIGHT]]
// CHECK: %[[MANY:.*]] = arith.constant 32
// CHECK: scf.for %{{.*}} = %[[LANE]] to %{{.*}} step %[[MANY]]
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: gpu.shuffle idx
// CHECK: arith.cmpi eq, %[[LANE]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[I]]]
// CHECK-NOT: tile.each
// CHECK: gpu.return
gpu.func @each(%x: memref<8x40xf32>, %y: memref<8xf32>, %m: index) kernel {
  %n = arith.constant 40 : index
  tile.each (%i) in (%m) {
    %sum = tile.reduce (%j) in (%n) combine [add] : f32 {
      %v = memref.load %x[%i, %j] : memref<8x40xf32>
      tile.yield %v : f32
    }
    memref.store %sum, %y[%i] : memref<8xf32>
  }
  gpu.return
}

// Terms come in blocks, and sixteen at a time; sums stay in registers until they
// are complete. Terms that fill up a stage are -0 times 0. The innermost loop is
// not for others to unroll.
// CHECK-LABEL: gpu.func @product
// CHECK-SAME: workgroup(%[[SHARED:.*]] : memref<2304xi8, #gpu.address_space<workgroup>>)
// CHECK: %[[SUMS:.*]] = scf.execute_region
// CHECK: %[[A:.*]] = memref.view %[[SHARED]]{{.*}} to memref<1x8x36xf32, {{.*}}>
// CHECK: %[[W:.*]] = memref.view %[[SHARED]]{{.*}} to memref<1x8x36xf32, {{.*}}>
// CHECK: scf.for {{.*}} step %[[BLOCK:.*]] iter_args
// CHECK: scf.for {{.*}} iter_args
// CHECK: gpu.barrier
// CHECK: %[[NONE:.*]] = arith.constant -0.0
// CHECK: %[[LEFT:.*]] = arith.select %{{.*}}, %{{.*}}, %[[NONE]]
// CHECK: memref.store %[[LEFT]], %[[A]]
// CHECK: %[[RIGHT:.*]] = arith.select
// CHECK: memref.store %[[RIGHT]], %[[W]]
// CHECK: gpu.barrier
// CHECK: math.fma
// CHECK: } {loop_annotation = #{{.*}}}
// CHECK: scf.execute_region
// CHECK: memref.store %[[SUMS]]
gpu.func @product(%c: memref<16x16xf32>, %a: memref<16x100xf32>, %w: memref<16x100xf32>) kernel {
  %zero = arith.constant 0 : index
  %m = arith.constant 16 : index
  %k = arith.constant 100 : index
  tile.product %c[%zero, %zero], %a[%zero, %zero], %w[%zero, %zero]
      size(%m, %m, %k) in [64, 16] transpose_w
      : memref<16x16xf32>, memref<16x100xf32>, memref<16x100xf32>
  gpu.return
}
}
