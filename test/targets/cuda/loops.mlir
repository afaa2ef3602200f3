// RUN: hone-opt %s --hone-pipeline-target="target=nvptx64-nvidia-cuda:sm_75" | FileCheck %s --check-prefixes=CHECK,SM75
// RUN: hone-opt %s --hone-pipeline-target="target=nvptx64-nvidia-cuda:sm_90" | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: hone-opt %s --hone-pipeline-target="target=nvptx64-nvidia-cuda" | FileCheck %s --implicit-check-not=.ftz --implicit-check-not=.approx --implicit-check-not=".extern .func" --implicit-check-not=mul.f --implicit-check-not=add.f

// The text is of the lowest version that knows the architecture; each operation
// is rounded by itself.
// CHECK: module attributes {{{.*}}tile.device_code =
// SM75-SAME: .version 6.3{{.*}}.target sm_75
// SM90-SAME: .version 7.8{{.*}}.target sm_90
// CHECK-SAME: .extern .shared .align 16
// CHECK-SAME: .visible .entry rows_0
// CHECK-SAME: shfl.sync.bfly
// CHECK-SAME: bar.sync
// CHECK-SAME: sqrt.rn.f32
// CHECK-SAME: mul.rn.f32
// CHECK-SAME: tile.kernels = [#tile.kernel<"rows_0" of "rows", "" threads 256 shared 32 fields[<0, 8, both>, <8, 8, both>]>]
// CHECK: llvm.call @hone_launch
func.func private @rows(%rows: index, %x: memref<64x40xf32>, %y: memref<64x40xf32>) {
  %c40 = arith.constant 40 : index
  tile.parallel (%i) in (%rows) {
    %s = tile.reduce (%j) in (%c40) combine [add] : f32 {
      %v = memref.load %x[%i, %j] : memref<64x40xf32>
      %w = arith.mulf %v, %v : f32
      tile.yield %w : f32
    }
    %r = math.sqrt %s : f32
    tile.map (%j) in (%c40) {
      %v = memref.load %x[%i, %j] : memref<64x40xf32>
      %e = math.exp %v : f32
      %w = arith.mulf %e, %r : f32
      memref.store %w, %y[%i, %j] : memref<64x40xf32>
    }
  }
  return
}
