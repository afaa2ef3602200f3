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

def CopyOp : Op<SimtDialect, "copy", [AttrSizedOperandSegments]> {
  let summary = "16 bytes on their way to shared memory";
  let description = [{
    The thread goes on. What it has copied before an
    `nvvm.cp.async.commit.group` is there for itself after the
    `nvvm.cp.async.wait.group` that waits for it, and for others after a barrier
    that follows.

    1. (C1) Both are of one element type, of which 16 bytes hold a whole number.
    2. (C2) `from` is the device's memory, `to` is shared.
    3. (C3) Both are at a multiple of 16 bytes: there is an index for each
       dimension, rows begin at such multiples, whose elements are neighbours,
       and a last index that is constant is such a one, too. Of others it is a
       promise, which the machine that executes PTX checks.

    Example:

    ```mlir
    simt.copy %x[%i, %t] to %stages[%slot, %t, %i]
        : memref<256x896xf32> to memref<4x16x68xf32, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$from,
                       Variadic<Index>:$fromAt,
                       Arg<AnyMemRef, "", [MemWrite]>:$to,
                       Variadic<Index>:$toAt);
  let assemblyFormat = [{
    $from `[` $fromAt `]` `to` $to `[` $toAt `]` attr-dict `:` type($from) `to`
    type($to)
  }];
  let hasVerifier = 1;
}

def LoadMatricesOp : Op<SimtDialect, "load_matrices"> {
  let summary = "four matrices of 8 x 8 for the lanes of a subgroup";
  let description = [{
    Lane `8 m + r` says where row `r` of matrix `m` is: 16 bytes in shared
    memory. Of each matrix lane `l` gets columns `2 (l mod 4)` and the next of row
    `l / 4`, the first in the low half; with `transpose` of the matrix on its
    side. (PTX, `ldmatrix`.)

    1. (C1) Elements have 16 bits.
    2. (C2) All lanes of the subgroup run it together (`hone-gpu-verify`).
    3. (C3) `memory` is shared.
    4. (C4) A row is at a multiple of 16 bytes, as in `simt.copy`.

    Example:

    ```mlir
    %a:4 = simt.load_matrices %stages[%slot, %i, %t]
        : memref<4x32x72xbf16, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins Arg<MemRefOf<[BF16]>, "", [MemRead]>:$memory,
                       Variadic<Index>:$indices, UnitAttr:$transpose);
  let results = (outs I32:$first, I32:$second, I32:$third, I32:$fourth);
  let assemblyFormat = [{
    $memory `[` $indices `]` (`transpose` $transpose^)? attr-dict `:`
    type($memory)
  }];
  let hasVerifier = 1;
}

#endif // HONE_TARGETS_GPU_GPUOPS_TD
