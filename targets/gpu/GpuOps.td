//===- GpuOps.td - Ops in kernels between the passes of this folder -------===//
//
// Ops on the numbers in threads' registers, before each number has its thread.
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
    In the region, the numbers of `c[row..., column...]`, `m` by `n`, are in
    registers. They are read from `c` before the region if the first product on
    it accumulates, and after the region they are stored as the last product
    says. Products on it are those that name the same `c`, place and size; they
    stand in the region itself or in loops of it. Nothing else in the region
    reads or writes it.

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
    The thread goes on. Its copies before an `nvvm.cp.async.commit.group` are
    there for itself after the `nvvm.cp.async.wait.group` that waits for it, and
    for others after a barrier that follows.

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

def MultiplyGroupOp : Op<SimtDialect, "multiply_group",
                         [AllTypesMatch<["sums", "results"]>]> {
  let summary = "sums of a tile and a stage's terms, by four subgroups";
  let description = [{
    Adds the products of 64 rows of `left`, from `left_at` on, and of all places
    of `right` to the sums of the tile. Four subgroups, whose first is a multiple
    of four, do it together; each has 16 of the rows. Lane `l` has of each eight
    columns, in turn, columns `2 (l mod 4)` and the next of row `l / 4`, and the
    same of the eighth row after it. (PTX, `wgmma.mma_async`.)

    Rows of shared memory are 128 bytes, which begin at a multiple of 1,024 for
    each eight of them. Their pieces of 16 bytes are where the number of the
    piece and that of the row, modulo eight, differ in their bits. Places of
    `left` are rows of 64 terms, and so are those of `right`; with `transpose`
    its rows are 64 places of a term, and the 64 terms of 64 places follow each
    other. How sums are rounded is the unit's affair.

    With `goes_on` the products that were begun before are done afterwards, and
    these may not be: until another such op or `simt.finish_groups` has been run,
    nobody writes their operands, and only such an op is given their sums.

    1. (C1) Both are shared memory of bfloat16, stages of rows of 64.
    2. (C2) A lane has a sum for every two places of `right`, that is for every
       two rows of a stage.
    3. (C3) All threads of a workgroup run it together (`hone-gpu-verify`), after
       an `nvvm.fence.proxy` of their writes to shared memory, and a barrier.

    Example:

    ```mlir
    %after:4 = simt.multiply_group %left[%slot, %row], %right[%slot] to %a, %b, %c, %d
        : memref<3x128x64xbf16, #gpu.address_space<workgroup>>,
          memref<3x8x64xbf16, #gpu.address_space<workgroup>>, f32, f32, f32, f32
    ```
  }];
  let arguments = (ins Arg<MemRefOf<[BF16]>, "", [MemRead]>:$left,
                       Index:$left_slot, Index:$left_row,
                       Arg<MemRefOf<[BF16]>, "", [MemRead]>:$right,
                       Index:$right_slot, Variadic<F32>:$sums,
                       UnitAttr:$transpose, UnitAttr:$goes_on);
  let results = (outs Variadic<F32>:$results);
  let assemblyFormat = [{
    $left `[` $left_slot `,` $left_row `]` `,` $right `[` $right_slot `]`
    (`transpose` $transpose^)? `to` $sums (`goes_on` $goes_on^)? attr-dict `:`
    type($left) `,` type($right) `,` type($sums)
  }];
  let extraClassDeclaration = [{
    /// Terms of a stage, and elements of a row.
    static constexpr int64_t kRow = 64;
    /// Of eight rows in shared memory.
    static constexpr int64_t kAlignment = 1024;
  }];
  let hasVerifier = 1;
}

def FinishGroupsOp : Op<SimtDialect, "finish_groups",
                        [AllTypesMatch<["sums", "results"]>]> {
  let summary = "sums of groups whose products are done";
  let description = [{
    Waits for all products that `simt.multiply_group` has left under way; `sums`
    are the results of the last. (PTX, `wgmma.wait_group`.)

    1. (C1) All threads of a workgroup run it together (`hone-gpu-verify`).

    Example:

    ```mlir
    %done:2 = simt.finish_groups %a, %b : f32, f32
    ```
  }];
  let arguments = (ins Variadic<F32>:$sums);
  let results = (outs Variadic<F32>:$results);
  let assemblyFormat = "$sums attr-dict `:` type($sums)";
}

class GroupProducts<string name> : Op<SimtDialect, name,
                                      [AttrSizedOperandSegments]> {
  code constraints = [{

    Rows of shared memory are laid out as `simt.multiply_group` reads them. More
    than 64 features of a row are further panels of such rows: of those that
    begin at a number of `memory`, panel `p` is `64 p` times the rows of a panel
    further on. Four subgroups, whose first is a multiple of four, do it
    together, and sums of a lane are in the same order there. (PTX,
    `wgmma.mma_async`.)

    1. (C1) `memory` is shared.
    2. (C2) All threads of a workgroup run it together, as they do
       `simt.multiply_group`.
  }];
}

def GroupDotsOp : GroupProducts<"group_dots"> {
  let summary = "products of rows with rows, by four subgroups";
  let description = [{
    For each pair of `lefts` and `rights` the products of 64 rows with the first
    `columns` rows, over `features`. Results of a pair follow those of the one
    before.
  }] # constraints # [{
    3. (C3) There are as many `lefts` as `rights`, `features` are whole panels,
       `columns` are a multiple of 8 up to 128, and a lane has a result for every
       two of them.

    Example:

    ```mlir
    %s:4 = simt.group_dots %rows[%q] rows(128), [%k] rows(64) columns 8 features 128
        : memref<24576xbf16, #gpu.address_space<workgroup>> -> f32, f32, f32, f32
    ```
  }];
  let arguments = (ins Arg<MemRefOf<[BF16]>, "", [MemRead]>:$memory,
                       Variadic<Index>:$lefts, Variadic<Index>:$rights,
                       I64Attr:$left_rows, I64Attr:$right_rows,
                       I64Attr:$columns, I64Attr:$features);
  let results = (outs Variadic<F32>:$results);
  let assemblyFormat = [{
    $memory `[` $lefts `]` `rows` `(` $left_rows `)` `,` `[` $rights `]` `rows`
    `(` $right_rows `)` `columns` $columns `features` $features attr-dict `:`
    type($memory) `->` type($results)
  }];
  let hasVerifier = 1;
}

def GroupAddOp : GroupProducts<"group_add"> {
  let summary = "sums and products of registers with rows, by four subgroups";
  let description = [{
    For each of `places` adds the products of `weights` with the rows there to
    `sums`. Of 64 rows of weights each subgroup has 16, and of 16 terms a lane
    has four words, as sums of `simt.group_dots` are packed: rows `g` and `g + 8`
    of the first eight terms, then of the others. Terms are rows of `memory`, and
    columns its features. Words and sums of a place follow those of the one
    before.
  }] # constraints # [{
    3. (C3) Each place has whole terms and the sums of whole panels.

    Example:

    ```mlir
    %after:32 = simt.group_add (%w0, %w1, %w2, %w3), %rows[%v] rows(64)
        to %s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7, %s8, %s9, %s10, %s11,
           %s12, %s13, %s14, %s15, %s16, %s17, %s18, %s19, %s20, %s21, %s22, %s23,
           %s24, %s25, %s26, %s27, %s28, %s29, %s30, %s31
        : memref<24576xbf16, #gpu.address_space<workgroup>>
        -> f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32,
           f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
    ```
  }];
  let arguments = (ins Variadic<I32>:$weights,
                       Arg<MemRefOf<[BF16]>, "", [MemRead]>:$memory,
                       Variadic<Index>:$places, I64Attr:$rows,
                       Variadic<F32>:$sums);
  let results = (outs Variadic<F32>:$results);
  let assemblyFormat = [{
    `(` $weights `)` `,` $memory `[` $places `]` `rows` `(` $rows `)` `to` $sums
    attr-dict `:` type($memory) `->` type($results)
  }];
  let hasVerifier = 1;
}

def LoadWordsOp : Op<SimtDialect, "load_words"> {
  let summary = "16 bytes for one thread";
  let description = [{
    Four words of neighbouring elements, the first in the lowest bits. Each
    thread may have a place of its own.

    1. (C1) Elements have 16 bits.
    2. (C2) The place is at a multiple of 16 bytes, as in `simt.copy`.

    Example:

    ```mlir
    %w:4 = simt.load_words %x[%i, %t] : memref<256x896xbf16>
    ```
  }];
  let arguments = (ins Arg<MemRefOf<[BF16]>, "", [MemRead]>:$memory,
                       Variadic<Index>:$indices);
  let results = (outs I32:$first, I32:$second, I32:$third, I32:$fourth);
  let assemblyFormat = "$memory `[` $indices `]` attr-dict `:` type($memory)";
  let hasVerifier = 1;
}

def StoreWordsOp : Op<SimtDialect, "store_words"> {
  let summary = "16 bytes of one thread";
  let description = [{
    Stores words where `simt.load_words` would load them, whose constraints it
    has.

    Example:

    ```mlir
    simt.store_words %a, %b, %c, %d, %y[%i, %t] : memref<256x896xbf16>
    ```
  }];
  let arguments = (ins I32:$first, I32:$second, I32:$third, I32:$fourth,
                       Arg<MemRefOf<[BF16]>, "", [MemWrite]>:$memory,
                       Variadic<Index>:$indices);
  let assemblyFormat = [{
    $first `,` $second `,` $third `,` $fourth `,` $memory `[` $indices `]`
    attr-dict `:` type($memory)
  }];
  let hasVerifier = 1;
}

def StoreNumbersOp
    : Op<SimtDialect, "store_numbers", [AttrSizedOperandSegments]> {
  let summary = "neighbouring elements of one thread";
  let description = [{
    Stores numbers side by side, as one access. Each thread may have a place of
    its own. Stores of single elements could be one for a device's compiler,
    too; but it makes one of those that end two branches, and then they are not
    side by side.

    1. (C1) The numbers are elements of `memory`, 2, 4, 8 or 16 whole bytes.
    2. (C2) The place is at a multiple of so many bytes, as in `simt.copy`.

    Example:

    ```mlir
    simt.store_numbers %a, %b to %y[%i, %t] : bf16, bf16 to memref<256x896xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$numbers,
                       Arg<AnyMemRef, "", [MemWrite]>:$memory,
                       Variadic<Index>:$indices);
  let assemblyFormat = [{
    $numbers `to` $memory `[` $indices `]` attr-dict `:` type($numbers) `to`
    type($memory)
  }];
  let hasVerifier = 1;
}

class AttentionOfRows<string name> : Op<SimtDialect, name> {
  code constraints = [{

    Results are the 64 features of the head from `64 part` on, for which a lane
    has registers. With `by_groups` four subgroups multiply together; results are
    all features then, and `part` is 0.

    1. (C1) `q`, `k`, `v` and matrices like them have elements of bfloat16, and
       heads of 64 or 128 features.
    2. (C2) `first` is a multiple of 16.
    3. (C3) `scale` is positive: the largest product has the largest score.
  }];
  code declarations = [{
    /// Features of the head that a workgroup has results of.
    int64_t getResultFeatures() {
      constexpr int64_t kPart = 64;
      return getByGroups() ? getHeadDim() : kPart;
    }
    /// Query heads that share a key head.
    int64_t getGroup() {
      return static_cast<int64_t>(getHeads()) /
             static_cast<int64_t>(getKvHeads());
    }
    int64_t getHeadDim() {
      auto type = ::llvm::cast<::mlir::MemRefType>(getQ().getType());
      return type.getDimSize(1) / static_cast<int64_t>(getHeads());
    }
  }];
  let hasVerifier = 1;
}

def AttentionOp : AttentionOfRows<"attention"> {
  let summary = "attention of a few rows of a head, in registers";
  let description = [{
    Of head `head` the rows from `first` on, at most 128: each subgroup has 16 of
    them. The workgroup goes over the keys that its rows see, 64 at a time and
    from a multiple of 64 on, and has them and their values in shared memory.
    Weights are scaled by the largest score so far and rounded to bfloat16; sums
    are float32. `normalizer`, if it is there, gets each row's largest score and
    the reciprocal of its weights' sum.
  }] # constraints;
  let arguments = (ins Index:$head, Index:$part, Index:$first, Index:$count,
                       Arg<AnyMemRef, "", [MemRead]>:$q,
                       Arg<AnyMemRef, "", [MemRead]>:$k,
                       Arg<AnyMemRef, "", [MemRead]>:$v,
                       Arg<AnyMemRef, "", [MemRead]>:$starts,
                       Arg<AnyMemRef, "", [MemWrite]>:$y,
                       Arg<Optional<AnyMemRef>, "", [MemWrite]>:$normalizer,
                       I64Attr:$heads, I64Attr:$kv_heads,
                       OptionalAttr<I64Attr>:$window, F64Attr:$scale,
                       UnitAttr:$by_groups);
  let assemblyFormat = [{
    $head `part` $part `[` $first `,` $count `]` $q `,` $k `,` $v `,` $starts `to` $y
    (`normalizer` $normalizer^ `:` type($normalizer))? attr-dict `:` type($q)
    `,` type($k) `,` type($v) `,` type($starts) `,` type($y)
  }];
  let extraClassDeclaration = declarations;
}

def AttentionQueryAdjointOp : AttentionOfRows<"attention_query_adjoint"> {
  let summary = "the cotangent of a few queries of a head, in registers";
  let description = [{
    The rows are dealt out as by `simt.attention`, with 32 keys at a time, and
    weights are computed again. Leaves for `simt.attention_key_adjoint`, by head
    and row, the product of `y` and `dy`, and the normalizer's two parts.
  }] # constraints;
  let arguments = (ins Index:$head, Index:$part, Index:$first, Index:$count,
                       Arg<AnyMemRef, "", [MemRead]>:$q,
                       Arg<AnyMemRef, "", [MemRead]>:$k,
                       Arg<AnyMemRef, "", [MemRead]>:$v,
                       Arg<AnyMemRef, "", [MemRead]>:$y,
                       Arg<AnyMemRef, "", [MemRead]>:$dy,
                       Arg<AnyMemRef, "", [MemRead]>:$normalizer,
                       Arg<AnyMemRef, "", [MemRead]>:$starts,
                       Arg<AnyMemRef, "", [MemWrite]>:$dq,
                       Arg<AnyMemRef, "", [MemWrite]>:$terms,
                       Arg<AnyMemRef, "", [MemWrite]>:$maxima,
                       Arg<AnyMemRef, "", [MemWrite]>:$reciprocals,
                       I64Attr:$heads, I64Attr:$kv_heads,
                       OptionalAttr<I64Attr>:$window, F64Attr:$scale,
                       UnitAttr:$by_groups);
  let assemblyFormat = [{
    $head `part` $part `[` $first `,` $count `]` $q `,` $k `,` $v `,` $y `,` $dy `,`
    $normalizer `,` $starts `to` $dq `,` $terms `,` $maxima `,` $reciprocals
    attr-dict `:` type(operands)
  }];
  let extraClassDeclaration = declarations;
}

def AttentionKeyAdjointOp : AttentionOfRows<"attention_key_adjoint"> {
  let summary = "the cotangents of a few keys and values, in registers";
  let description = [{
    Of key head `head` the rows from `first` on, at most `rows`, and all queries
    that see them, head by head of the group. Each subgroup has 16 of the rows, so
    that there are `8 / (rows / 16)` for each of them: block `b` of 16 queries is
    that one's whose number among them is `b` modulo their count. Their sums are
    joined by halves.
  }] # constraints # [{
    With `by_groups` blocks of queries have 32.
    4. (C4) `rows` is 16, 32 or 64; with `by_groups` it is 64.
  }];
  let arguments = (ins Index:$head, Index:$part, Index:$first, Index:$count,
                       Arg<AnyMemRef, "", [MemRead]>:$q,
                       Arg<AnyMemRef, "", [MemRead]>:$k,
                       Arg<AnyMemRef, "", [MemRead]>:$v,
                       Arg<AnyMemRef, "", [MemRead]>:$dy,
                       Arg<AnyMemRef, "", [MemRead]>:$terms,
                       Arg<AnyMemRef, "", [MemRead]>:$maxima,
                       Arg<AnyMemRef, "", [MemRead]>:$reciprocals,
                       Arg<AnyMemRef, "", [MemRead]>:$ends,
                       Arg<AnyMemRef, "", [MemWrite]>:$dk,
                       Arg<AnyMemRef, "", [MemWrite]>:$dv,
                       I64Attr:$heads, I64Attr:$kv_heads, I64Attr:$rows,
                       F64Attr:$scale, UnitAttr:$by_groups);
  let assemblyFormat = [{
    $head `part` $part `[` $first `,` $count `]` $q `,` $k `,` $v `,` $dy `,` $terms `,`
    $maxima `,` $reciprocals `,` $ends `to` $dk `,` $dv attr-dict `:`
    type(operands)
  }];
  let extraClassDeclaration = declarations;
}

#endif // HONE_TARGETS_GPU_GPUOPS_TD
