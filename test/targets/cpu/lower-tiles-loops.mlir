// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=512 vector-registers=32 masked-memory" | FileCheck %s --enable-var-scope --check-prefixes=CHECK,MASK
// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=512 vector-registers=32" | FileCheck %s --enable-var-scope --check-prefixes=CHECK,REST

// Values that do not vary with the last variable are loaded in front of its
// loop; the remainder is one masked vector, or scalars.
// CHECK-LABEL: func @map
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[SCALE:.*]] = memref.load %{{.*}}[%[[I]]] : memref<8xf32>
// CHECK: scf.for
// CHECK: vector.load
// CHECK: vector.broadcast %[[SCALE]]
// CHECK: vector.store
// MASK: scf.if
// MASK: vector.maskedload
// MASK: vector.maskedstore
// REST: scf.for
// REST: memref.load
// REST: memref.store
func.func @map(%x: memref<8x64xf32>, %s: memref<8xf32>, %m: index, %n: index) {
  tile.map (%i, %j) in (%m, %n) {
    %v = memref.load %x[%i, %j] : memref<8x64xf32>
    %f = memref.load %s[%i] : memref<8xf32>
    %r = arith.mulf %v, %f : f32
    memref.store %r, %x[%i, %j] : memref<8x64xf32>
  }
  return
}

// Iterations follow one another; their bodies are widened.
// CHECK-LABEL: func @each
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[SUMS:.*]] = scf.for
// CHECK: vector.load %{{.*}}[%[[I]], %{{.*}}]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[I]]]
// CHECK-NOT: tile.each
// CHECK: return
func.func @each(%x: memref<8x64xf32>, %s: memref<8xf32>, %m: index) {
  %n = arith.constant 64 : index
  tile.each (%i) in (%m) {
    %sum = tile.reduce (%j) in (%n) combine [add] : f32 {
      %v = memref.load %x[%i, %j] : memref<8x64xf32>
      tile.yield %v : f32
    }
    memref.store %sum, %s[%i] : memref<8xf32>
  }
  return
}

// A constant multiple of the lanes leaves nothing over.
// CHECK-LABEL: func @whole_vectors
// CHECK: scf.for
// CHECK: vector.store
// CHECK-NOT: maskedstore
// CHECK-NOT: memref.store
// CHECK: return
func.func @whole_vectors(%x: memref<64xf32>) {
  %n = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  tile.map (%j) in (%n) {
    memref.store %zero, %x[%j] : memref<64xf32>
  }
  return
}

// CHECK-LABEL: func @column_store_stays_scalar
// CHECK-NOT: vector
// CHECK: memref.store
// CHECK: return
func.func @column_store_stays_scalar(%x: memref<8x64xf32>, %m: index) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  tile.map (%j) in (%m) {
    memref.store %zero, %x[%j, %c0] : memref<8x64xf32>
  }
  return
}

// Lanes outside the mask hold zero, so an integer division would trap.
// CHECK-LABEL: func @integer_division_stays_scalar
// CHECK-NOT: vector.
// CHECK: arith.divsi
// CHECK: return
func.func @integer_division_stays_scalar(%x: memref<64xi32>, %n: index) {
  tile.map (%j) in (%n) {
    %v = memref.load %x[%j] : memref<64xi32>
    %q = arith.divsi %v, %v : i32
    memref.store %q, %x[%j] : memref<64xi32>
  }
  return
}

// A load that the body's own store may feed keeps its place.
// CHECK-LABEL: func @fed_load_stays_scalar
// CHECK-NOT: vector.
// CHECK: return
func.func @fed_load_stays_scalar(%x: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  tile.map (%j) in (%n) {
    %v = memref.load %x[%c0] : memref<64xf32>
    memref.store %v, %x[%j] : memref<64xf32>
  }
  return
}

// Numbers of a table are gathered, those of the rest by its mask.
// CHECK-LABEL: func @gather
// CHECK-SAME: (%[[TABLE:[a-z0-9]+]]: memref<4x256xf32>, %[[AT:[a-z0-9]+]]: memref<64xi32>, %{{.*}}: memref<64xf32>, %[[ROW:[a-z0-9]+]]: index
// CHECK: scf.for
// CHECK: %[[CODES:.*]] = vector.load %[[AT]]
// CHECK: %[[PLACES:.*]] = arith.index_castui %[[CODES]] : vector<16xi32> to vector<16xindex>
// CHECK: %[[ALL:.*]] = arith.constant dense<true> : vector<16xi1>
// CHECK: vector.gather %[[TABLE]][%[[ROW]], %{{.*}}] [%[[PLACES]]], %[[ALL]]
// MASK: %[[LEFT:.*]] = vector.create_mask
// MASK: vector.gather %{{.*}}, %[[LEFT]]
// REST: scf.for
// REST-NOT: vector.
// CHECK: return
func.func @gather(%table: memref<4x256xf32>, %at: memref<64xi32>, %to: memref<64xf32>, %row: index, %n: index) {
  tile.map (%j) in (%n) {
    %code = memref.load %at[%j] : memref<64xi32>
    %place = arith.index_castui %code : i32 to index
    %v = memref.load %table[%row, %place] : memref<4x256xf32>
    memref.store %v, %to[%j] : memref<64xf32>
  }
  return
}

// A store of the body may change its loads, no processor gathers 16 bits, and a
// sum has its order.
// CHECK-LABEL: func @gather_stays_scalar
// CHECK-NOT: vector.
// CHECK: return
func.func @gather_stays_scalar(%x: memref<64xf32>, %half: memref<64xbf16>, %at: memref<64xi32>, %n: index) -> f32 {
  tile.map (%j) in (%n) {
    %code = memref.load %at[%j] : memref<64xi32>
    %place = arith.index_castui %code : i32 to index
    %v = memref.load %x[%place] : memref<64xf32>
    memref.store %v, %x[%j] : memref<64xf32>
  }
  tile.map (%j) in (%n) {
    %code = memref.load %at[%j] : memref<64xi32>
    %place = arith.index_castui %code : i32 to index
    %v = memref.load %half[%place] : memref<64xbf16>
    %wide = arith.extf %v : bf16 to f32
    memref.store %wide, %x[%j] : memref<64xf32>
  }
  %r = tile.reduce (%j) in (%n) combine [add] : f32 {
    %code = memref.load %at[%j] : memref<64xi32>
    %place = arith.index_castui %code : i32 to index
    %v = memref.load %x[%place] : memref<64xf32>
    tile.yield %v : f32
  }
  return %r : f32
}

// f64 takes half as many lanes.
// CHECK-LABEL: func @lanes_follow_the_type
// CHECK: vector.load {{.*}} vector<8xf64>
func.func @lanes_follow_the_type(%x: memref<64xf64>, %n: index) {
  tile.map (%j) in (%n) {
    %v = memref.load %x[%j] : memref<64xf64>
    %r = math.exp %v : f64
    memref.store %r, %x[%j] : memref<64xf64>
  }
  return
}

// Lanes are joined by halving.
// CHECK-LABEL: func @reduce
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.addf {{.*}} : vector<16xf32>
// MASK: vector.maskedload
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: vector.shuffle {{.*}} [8, 9, 10, 11, 12, 13, 14, 15]
// CHECK: arith.addf {{.*}} : vector<8xf32>
// REST: scf.for {{.*}} iter_args
func.func @reduce(%x: memref<64xf32>, %n: index) -> f32 {
  %r = tile.reduce (%j) in (%n) combine [add] : f32 {
    %v = memref.load %x[%j] : memref<64xf32>
    tile.yield %v : f32
  }
  return %r : f32
}
