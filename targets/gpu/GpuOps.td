//===- GpuOps.td - What kernels hold between the passes of this folder ----===//
//
// Ops that stand for what threads hold in registers, before it is said which
// thread holds what.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_GPU_GPUOPS_TD
#define HONE_TARGETS_GPU_GPUOPS_TD

include "dialects/Tile/TileBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def SimtDialect : Dialect {
  let name = "simt";
  let cppNamespace = "::hone::simt";
  let summary = "tile ops on their way to the threads of a workgroup";
  let dependentDialects = ["::hone::tile::TileDialect"];
}

def ChainOp : Op<SimtDialect, "chain", [RecursiveMemoryEffects, SingleBlock,
                                        NoTerminator]> {
  let summary = "products whose sums stay in registers";
  let description = [{
    In the region, what `c[row..., column...]`, `m` by `n`, has is in registers.
    It is read from `c` before the region if the first product on it
    accumulates, and after the region it is stored as the last product says.
    Products on it are those that name the same `c`, place and size; they stand
    in the region itself or in loops of it. Nothing else in the region reads or
    writes it.

    Example:

    ```mlir
    simt.chain %y[%i, %j] size(%m, %n) {
      tile.product %y[%i, %j], %h[%i, %c0], %b[%j, %c0] size(%m, %n, %c8)
          in [8, 64] transpose_w : memref<256x896xf32>, memref<256x8xf32>, memref<896x8xf32>
      tile.product %y[%i, %j], %x[%i, %c0], %w[%j, %c0] size(%m, %n, %c896)
          in [896, 64] accumulate transpose_w : memref<256x896xf32>, memref<256x896xf32>, memref<896x896xf32>
    } : memref<256x896xf32>
    ```
  }];
  let arguments = (ins FloatMatrix:$c, Index:$row, Index:$column, Index:$m,
                       Index:$n);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $c `[` $row `,` $column `]` `size` `(` $m `,` $n `)` $body attr-dict `:`
    type($c)
  }];
  let extraClassDeclaration = [{
    /// Whether `product` is one of those whose sums are in registers.
    bool holds(::hone::tile::ProductOp product);
    /// Those, in their order.
    ::llvm::SmallVector<::hone::tile::ProductOp> getProducts();
  }];
}

#endif // HONE_TARGETS_GPU_GPUOPS_TD
