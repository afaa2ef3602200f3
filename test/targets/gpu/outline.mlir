// RUN: hone-opt %s --hone-gpu-outline | FileCheck %s --enable-var-scope

// A workgroup of 256 threads for each index. Captured values are parameters in
// the order of their use; constants go along, private buffers are shared.
// CHECK: module attributes {gpu.container_module}
// CHECK-LABEL: func.func private @block.part
// CHECK-SAME: (%[[ROWS:.*]]: index, %[[X:.*]]: memref<8x40xf32>, %[[MEMORY:.*]]: !tile.memory)
// CHECK: gpu.launch_func @device::@block_part_0 blocks in (%[[ROWS]], %{{.*}}, %{{.*}}) threads in (%[[THREADS:.*]], %{{.*}}, %{{.*}}) args(%[[X]] : memref<8x40xf32>, %[[MEMORY]] : !tile.memory)
// CHECK-NOT: tile.parallel
func.func private @block.part(%rows: index, %x: memref<8x40xf32>, %memory: !tile.memory) {
  %c40 = arith.constant 40 : index
  %table = memref.get_global @table : memref<40xf32>
  tile.parallel (%i) in (%rows) private(%row : memref<1x40xf32>) {
    tile.map (%j) in (%c40) {
      %a = memref.load %x[%i, %j] : memref<8x40xf32>
      %b = memref.load %table[%j] : memref<40xf32>
      %c = arith.addf %a, %b : f32
      memref.store %c, %row[%i, %j] : memref<1x40xf32>
    }
    %y = tile.view %memory[%i] : !tile.memory -> memref<40xf32>
    %part = tile.view %row[%i] : memref<1x40xf32> -> memref<8xf32>
    tile.map (%j) in (%c40) {
      %a = memref.load %part[%j] : memref<8xf32>
      memref.store %a, %y[%j] : memref<40xf32>
    }
  }
  return
}
memref.global "private" constant @table : memref<40xf32> = dense<1.0>

// CHECK: gpu.module @device
// CHECK: gpu.func @block_part_0(%[[A:.*]]: memref<8x40xf32>, %[[M:.*]]: !tile.memory)
// CHECK-SAME: workgroup(%[[SHARED:.*]] : memref<1x40xf32, #gpu.address_space<workgroup>>) kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK-DAG: arith.constant 40
// CHECK-DAG: memref.get_global @table
// CHECK-DAG: %[[I:.*]] = gpu.block_id x
// CHECK: memref.load %[[A]][%[[I]]
// CHECK: tile.view %[[SHARED]]{{.*}} -> memref<8xf32, #gpu.address_space<workgroup>>
// CHECK: memref.global {{.*}} @table
