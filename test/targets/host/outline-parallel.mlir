// RUN: hone-opt %s --hone-host-size-scratch --hone-host-outline-parallel | FileCheck %s --enable-var-scope

// Kernels have a number: their place in the table, which has the uses of the
// closure's fields after the frame. A field that is an address has the kernel's
// accesses to the memory; unknown ops may do anything.
// CHECK: module attributes {tile.kernels = [
// CHECK-SAME: #tile.kernel<"captures.task0" of "captures", "" fields[<8, 8, none>, <16, 8, write>]>,
// CHECK-SAME: #tile.kernel<"scratch.task0" of "scratch", "" fields[]>,
// CHECK-SAME: #tile.kernel<"accesses.task0" of "accesses", "" fields[<8, 8, read>, <16, 8, both>, <24, 8, both>]>,
// CHECK-SAME: #tile.kernel<"decoder.backward.task0" of "decoder.backward", "gated_activation mlp.act_fn" fields[]>]

// The module records what the largest loop needs: 20 f32 and 3 f64, each
// rounded up to 64 bytes.
// CHECK-SAME: tile.thread_bytes = 192 : i64}
// CHECK: llvm.func @hone_launch(!llvm.ptr, i32, !llvm.ptr, i64)

// Constants are cloned into the task, other values travel in the closure.
// CHECK-LABEL: llvm.func internal @captures.task0
// CHECK-SAME: (%[[CLOSURE:.*]]: !llvm.ptr, %[[INDEX:.*]]: i64, %{{.*}}: i64)
// CHECK: arith.constant 2.500000e+00 : f32
// CHECK: llvm.getelementptr %[[CLOSURE]][0, 2] {{.*}} !llvm.struct<(ptr, i64, ptr)>
// CHECK: tile.view %{{.*}}[%{{.*}}] : !tile.memory -> memref<8xf32>
// CHECK: arith.index_cast %[[INDEX]] : i64 to index
// CHECK: memref.store
// CHECK: llvm.return

// CHECK-LABEL: func.func @captures
// CHECK-SAME: %[[FRAME:.*]]: !llvm.ptr, %
// CHECK: %[[STRUCT:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(ptr, i64, ptr)>
// CHECK: %[[NUMBER:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: llvm.call @hone_launch(%[[FRAME]], %[[NUMBER]], %[[STRUCT]], %{{.*}})
func.func @captures(%frame: !llvm.ptr, %count: index, %x: memref<8xf32>,
                    %limit: index) {
  %value = arith.constant 2.5 : f32
  tile.parallel (%i) in (%count) {
    %inside = arith.cmpi ult, %i, %limit : index
    scf.if %inside {
      memref.store %value, %x[%i] : memref<8xf32>
    }
  }
  return
}

// Private buffers lie one after the other in the thread's slice.
// CHECK-LABEL: llvm.func internal @scratch.task0
// CHECK-SAME: %[[THREAD:[a-z0-9]*]]: i64)
// CHECK: %[[T:.*]] = arith.index_cast %[[THREAD]] : i64 to index
// CHECK: %[[BYTES:.*]] = arith.constant 192 : index
// CHECK: %[[START:.*]] = arith.muli %[[T]], %[[BYTES]]
// CHECK: tile.view %{{.*}}[%{{.*}}] : !tile.memory -> memref<20xf32>
// CHECK: %[[SECOND:.*]] = arith.constant 128 : index
// CHECK: %[[AT:.*]] = arith.addi %[[START]], %[[SECOND]]
// CHECK: tile.view %{{.*}}[%[[AT]]] : !tile.memory -> memref<3xf64>
func.func @scratch(%frame: !llvm.ptr, %count: index) {
  %zero = arith.constant 0.0 : f32
  tile.parallel (%i) in (%count) private(%p : memref<20xf32>, %q : memref<3xf64>) {
    memref.store %zero, %p[%i] : memref<20xf32>
  }
  return
}

// An access to a part is one to the whole.
func.func @accesses(%frame: !llvm.ptr, %count: index, %x: memref<8xf32>,
                    %y: memref<8xf32>, %z: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  tile.parallel (%i) in (%count) {
    %v = memref.load %x[%i] : memref<8xf32>
    %part = tile.view %y[%c0] : memref<8xf32> -> memref<4xf32>
    %w = memref.load %part[%c0] : memref<4xf32>
    %s = arith.addf %v, %w : f32
    memref.store %s, %y[%i] : memref<8xf32>
    func.call @unknown(%z) : (memref<8xf32>) -> ()
  }
  return
}
func.func private @unknown(%z: memref<8xf32>)

// The names of a kernel are the function, and the op and its place in the model,
// from the loop's location.
// CHECK-LABEL: llvm.func internal @decoder.backward.task0
func.func @decoder.backward(%frame: !llvm.ptr, %count: index) {
  tile.parallel (%i) in (%count) {
  } loc("gated_activation"("mlp.act_fn"))
  return
}
