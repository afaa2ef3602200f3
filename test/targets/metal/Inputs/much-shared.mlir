func.func private @much(%x: memref<64x160xf32>) {
  %c64 = arith.constant 64 : index
  %c160 = arith.constant 160 : index
  tile.parallel (%i) in (%c64) private(%all : memref<64x160xf32>) {
    tile.map (%j) in (%c160) {
      %v = memref.load %x[%i, %j] : memref<64x160xf32>
      memref.store %v, %all[%i, %j] : memref<64x160xf32>
    }
  }
  return
}
