//===- TileOps.td - Ops of the tile dialect -------------------------------===//
//
// TileBase.td has the purpose of the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_DIALECTS_TILE_TILEOPS_TD
#define HONE_DIALECTS_TILE_TILEOPS_TD

include "dialects/Tile/TileBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Memory and threads
//===----------------------------------------------------------------------===//

def BaseOp : TileOp<"base", [Pure]> {
  let summary = "memory that an entry is given";
  let description = [{
    The arena; where inputs of the batch count their offsets from; or the working
    set of this call. Each begins at a multiple of 64 bytes.

    1. (C1) It stands in an entry.

    Example:

    ```mlir
    %arena = tile.base arena : !tile.memory
    ```
  }];
  let arguments = (ins MemoryBaseAttr:$base);
  let results = (outs TileMemory:$memory);
  let assemblyFormat = "$base attr-dict `:` type($memory)";
  let hasVerifier = 1;
}

def RowsOp : TileOp<"rows", [Pure]> {
  let summary = "rows of the batch that an entry works on";
  let description = [{
    1. (C1) It stands in an entry.

    Example:

    ```mlir
    %rows = tile.rows : index
    ```
  }];
  let results = (outs Index:$rows);
  let assemblyFormat = "attr-dict `:` type($rows)";
  let hasVerifier = 1;
}

def OffsetOp : TileOp<"offset", [Pure]> {
  let summary = "a byte offset that depends on the placement";
  let description = [{
    A program may have its buffers at other offsets where batches are short. The
    code is one: offset `index` is looked up in the table of the placement that
    a run has chosen. It is a multiple of 64.

    1. (C1) It stands outside of `tile.parallel`.
    2. (C2) `index` is not negative.

    Example:

    ```mlir
    %offset = tile.offset 3 : index
    ```
  }];
  let arguments = (ins I64Attr:$index);
  let results = (outs Index:$offset);
  let assemblyFormat = "$index attr-dict `:` type($offset)";
  let hasVerifier = 1;
}

class TileNumberedOp<string mnemonic> : TileOp<mnemonic, [Pure]> {
  let arguments = (ins I64Attr:$index);
  let results = (outs AnyBuffer:$buffer);
  let assemblyFormat = "$index attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def WeightOp : TileNumberedOp<"weight"> {
  let summary = "one of the module's frozen tensors";
  let description = [{
    Read, never written. `index` counts stored tensors, in the order of the
    module's table of weights.

    1. (C1) It stands in an entry.
    2. (C2) `index` is not negative.

    Example:

    ```mlir
    %w = tile.weight 3 : memref<4864x896xf32>
    ```
  }];
}

def ArgumentOp : TileNumberedOp<"argument"> {
  let summary = "one of the values that an entry is called with";
  let description = [{
    Its arguments come first, then its results.

    1. (C1) It stands in an entry.
    2. (C2) `index` is not negative.

    Example:

    ```mlir
    %x = tile.argument 0 : memref<256x896xf32>
    ```
  }];
}

def NumberOp : TileOp<"number",
    [TypesMatchWith<"the number has the buffer's element type", "buffer",
         "number", "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "a number that decides which kernels an entry launches";
  let description = [{
    Reads an element of one of the entry's arguments where the loops of an entry
    are launched. A target may need the value before the entry starts, so
    nothing that the entry itself writes can be read.

    1. (C1) `buffer` is the result of `tile.argument`.
    2. (C2) There is an index for each dimension.

    Example:

    ```mlir
    %layers = tile.argument 1 : memref<24xi64>
    %selected = tile.number %layers[%c3] : memref<24xi64>
    ```
  }];
  let arguments = (ins Arg<AnyBuffer, "", [MemRead]>:$buffer,
                       Variadic<Index>:$indices);
  let results = (outs AnyTypeOf<[AnyInteger, AnyFloat]>:$number);
  let assemblyFormat = "$buffer `[` $indices `]` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def ViewOp : TileOp<"view", [Pure]> {
  let summary = "the memory at a byte offset of memory or of a buffer";
  let description = [{
    The only way from memory to buffers, and from a buffer to a part of it. The
    address must be aligned for the element type; the arena and thread scratch
    are 64-byte aligned, so offsets that are multiples of 64 suffice.

    Example:

    ```mlir
    %x = tile.view %arena[%offset] : !tile.memory -> memref<256x896xf32>
    %t = tile.view %x[%row] : memref<256x896xf32> -> memref<64x896xf32>
    %m = tile.view %arena[%offset] : !tile.memory -> !tile.memory
    ```
  }];
  let arguments = (ins AnyPlace:$base, Index:$byteOffset);
  let results = (outs AnyPlace:$place);
  let assemblyFormat = [{
    $base `[` $byteOffset `]` attr-dict `:` qualified(type($base)) `->`
    qualified(type($place))
  }];
}

def ParallelOp : TileOp<"parallel",
    [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "independent iterations, in any order, on any thread";
  let description = [{
    Runs the body for each index in `[0, count)`. `private` buffers are scratch
    of the running thread; their content at the start of an iteration is
    undefined.

    1. (C1) Parallel loops do not nest.
    2. (C2) The region's arguments are the index, then one buffer per private
       type.
    3. (C3) Private buffers have static shape and identity layout.
    4. (C4) The body yields nothing.

    Example:

    ```mlir
    tile.parallel (%i) in (%count) private(%panel : memref<896x64xf32>) {
      ...
    }
    ```
  }];
  let arguments = (ins Index:$count);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$count,
      "::llvm::ArrayRef<::mlir::MemRefType>":$privateTypes,
      "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, "
      "::mlir::Value, ::mlir::ValueRange)>":$bodyBuilder)>];
  let extraClassDeclaration = [{
    ::mlir::Value getIndex() { return getBody()->getArgument(0); }
    ::mlir::Block::BlockArgListType getPrivateBuffers() {
      return getBody()->getArguments().drop_front();
    }
  }];
}

def EachOp : TileOp<"each",
    [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "independent iterations, each for a few lanes of a machine";
  let description = [{
    Runs the body for every point of the box, in any order. An iteration of
    `tile.parallel` is a task of a CPU's pool, or a group of threads that share
    memory; one of `tile.each` is for 32 neighbouring lanes of such a group, or a
    turn of a loop: a row, a head of it, a query. Ops after it can read all that
    iterations write.

    Nothing in an iteration depends on another one: no two touch an element that
    one of them writes. An iteration keeps scalars, and elements of private
    buffers of the loop around it that are its own. It has no buffers itself: a
    group has as many iterations at a time as the machine wants, and memory for
    each of them would make its choice for it.

    1. (C1) There are one or two bounds, and as many `index` variables.
    2. (C2) It stands in no `tile.each`, `tile.map`, `tile.reduce` or
       `tile.product`.
    3. (C3) The body has no `tile.product`, whose work is a whole group's, and no
       `tile.parallel`. Rows are read (`tile.read_row`), mapped and reduced in it;
       loops and branches may stand around that.
    4. (C4) The body yields nothing.

    Example:

    ```mlir
    tile.each (%i) in (%count) {
      %sum = tile.reduce (%j) in (%c896) combine [add] : f32 {
        %x = memref.load %in[%i, %j] : memref<256x896xf32>
        tile.yield %x : f32
      }
      memref.store %sum, %sums[%i] : memref<256xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Index>:$bounds);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$bounds,
      "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, "
      "::mlir::ValueRange)>":$bodyBuilder)>];
}

// No memory effects are declared: an op that only reads would be dead.
class TileResidencyOp<string mnemonic> : TileOp<mnemonic> {
  let arguments = (ins AnyBuffer:$buffer, Index:$row, Index:$count);
  let assemblyFormat = [{
    $buffer `[` $row `]` `size` $count attr-dict `:` type($buffer)
  }];
}

def PrefetchOp : TileResidencyOp<"prefetch"> {
  let summary = "rows of a mapped weight are read soon";
  let description = [{
    A hint to read `count` rows from `row` on ahead. `buffer` must be mapped from
    a file.

    Example:

    ```mlir
    tile.prefetch %w[%row] size %count : memref<4864x896xf32>
    ```
  }];
}

def ReleaseOp : TileResidencyOp<"release"> {
  let summary = "rows of a mapped weight are not read soon";
  let description = [{
    Lets the pages of `count` rows from `row` on go. `buffer` must be mapped from
    a file and not written to: rows that are read again come from the file.

    Example:

    ```mlir
    tile.release %w[%row] size %count : memref<4864x896xf32>
    ```
  }];
}

def FetchOp : TileOp<"fetch"> {
  let summary = "copy a part of a mapped weight's row, but map nothing of it";
  let description = [{
    For `j < count`,

        to[0][column + j] = w[row][column + j]

    `w` must be mapped from a file and not written to. Its pages do not become
    resident.

    1. (C1) `to` is one row of `w`, and of its element type.

    Example:

    ```mlir
    tile.fetch %to, %w[%row, %column] size %count : memref<1x896xbf16>, memref<4864x896xbf16>
    ```
  }];
  let arguments = (ins Arg<AnyBuffer, "", [MemWrite]>:$to,
      Arg<AnyBuffer, "", [MemRead]>:$w, Index:$row, Index:$column,
      Index:$count);
  let assemblyFormat = [{
    $to `,` $w `[` $row `,` $column `]` `size` $count attr-dict `:`
    type($to) `,` type($w)
  }];
  let hasVerifier = 1;
}

class TileFileOp<string mnemonic> : TileOp<mnemonic> {
  let arguments = (ins AnyBuffer:$buffer, Index:$row, Index:$count,
      I64Attr:$offset);
  let assemblyFormat = [{
    $buffer `[` $row `]` `size` $count `at` $offset attr-dict `:` type($buffer)
  }];
}

def OffloadOp : TileFileOp<"offload"> {
  let summary = "begins to write rows to the file of offloaded values";
  let description = [{
    To the bytes from `offset` on. Until `tile.await` nothing may write to
    `buffer`.

    Example:

    ```mlir
    tile.offload %x[%row] size %count at 4096 : memref<256x896xf32>
    ```
  }];
}

def ReloadOp : TileFileOp<"reload"> {
  let summary = "begins to read rows from the file of offloaded values";
  let description = [{
    From `offset` on. Until `tile.await` nothing may use `buffer`.

    Example:

    ```mlir
    tile.reload %x[%row] size %count at 4096 : memref<256x896xf32>
    ```
  }];
}

def AwaitOp : TileOp<"await"> {
  let summary = "waits for a buffer's last transfer";
  let description = [{
    For the last `tile.offload` or `tile.reload` of it.

    Example:

    ```mlir
    tile.await %x : memref<256x896xf32>
    ```
  }];
  let arguments = (ins AnyBuffer:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

class TileStoredOp<string mnemonic, list<Trait> traits = []>
    : TileOp<mnemonic, traits # [AttrSizedOperandSegments]>;

def ReadRowOp : TileStoredOp<"read_row"> {
  let summary = "copy a part of a matrix's row, however it is stored";
  let description = [{
    For `j < count`,

        to[0][j] = w[row][column + j]

    in the element type of `to`. A matrix of bytes is packed integers of `bits`
    bits, the low half of a byte first. A row's columns fall into as many groups
    as `scales` and `biases` have columns, and each number is
    `scales[r][g] * q + biases[r][g]`, rounded once. `row`, `column` and `count`
    count numbers.

    `release` is a hint: the numbers are not read again soon, so their pages
    need not become resident, see `tile.fetch`.

    Preconditions, not checked at run time: `count` numbers fit `to` and lie
    inside the row; in a packed matrix, `column` is a multiple of 16.

    1. (C1) `scales`, `biases` and `bits` come together, with a matrix of bytes.
    2. (C2) `bits` is 4 or 8.
    3. (C3) `scales` and `biases` have one type and the matrix's rows, and a group
       is a multiple of 32 numbers.
    4. (C4) `to` has one row.

    Example:

    ```mlir
    tile.read_row %to, %q[%id, %c0] size %c896 scales %s biases %b bits 4
        : memref<1x896xf32>, memref<4864x448xi8>, memref<4864x14xf32>, memref<4864x14xf32>
    ```
  }];
  let arguments = (ins Arg<FloatMatrix, "", [MemWrite]>:$to,
      Arg<SourceMatrix, "", [MemRead]>:$w, Index:$row, Index:$column,
      Index:$count, UnitAttr:$release,
      Arg<Optional<GroupMatrix>, "", [MemRead]>:$scales,
      Arg<Optional<GroupMatrix>, "", [MemRead]>:$biases,
      OptionalAttr<I64Attr>:$bits);
  let assemblyFormat = [{
    $to `,` $w `[` $row `,` $column `]` `size` $count (`release` $release^)?
    (`scales` $scales^ `biases` $biases `bits` $bits)? attr-dict `:`
    type($to) `,` type($w) (`,` type($scales)^ `,` type($biases))?
  }];
  let hasVerifier = 1;
}

def ProductOp : TileStoredOp<"product",
    [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "multiply pieces of two matrices into a piece of a third";
  let description = [{
    With `A[i][t] = a[ai + i][at + t]` (`a[ai + t][at + i]` with `transpose_a`)
    and `W[t][j] = w[wi + t][wj + j]` (`w[wi + j][wj + t]` with `transpose_w`),
    for `i < m` and `j < n`,

        c[ci + i][cj + j] = epilogue(
            (accumulate ? c[ci + i][cj + j] : 0) + sum over t < k of A W, i, j)

    Terms are summed in blocks: `in [T, N]` says that `T` terms at a time are one
    sum, which starts at zero and runs over ascending `t` in fused
    multiply-adds, and that sums of blocks are added in order, the first to the
    old `c`. `N` is the most that `n` can be. `m` may be zero, which does
    nothing. With `into %z[zi, zj]` complete sums go to `z[zi + i][zj + j]`,
    rounded to its type, and `c` is undefined afterwards: sums in a private `c`
    are rounded once, however many products add to them.

    A matrix `w` of bytes is packed as in `tile.read_row`. `prologue` is scalar
    code that `w`'s elements go through, with their row and column in `w`.
    `epilogue` is the same for results, with `i` and `j`. Neither stores. They
    may load memory that the product does not write, and the epilogue also its
    own element of `c`. If indices of its loads are `i`, `j`, or one of them
    plus something invariant, with `j` in the last one only, targets run it on
    the sums before they store them.

    With `rounded`, operands are rounded to bfloat16 before they are multiplied.
    How many products are added at a time is then the target's affair. With
    `any_order` so is the order of a sum, which may then depend on `m`.

    Hints: with `read_ahead`, `w` comes from far away, and the next iteration of
    the loop around goes on where this piece ends; with `few_rows`, reading `w`
    costs as much as multiplying; with `padded`, `c` has room for `N` columns,
    and those from `n` on may be written with anything.

    1. (C1) `scales`, `biases` and `bits` come together, with a matrix of bytes.
    2. (C2) `bits` is 4 or 8.
    3. (C3) `scales` and `biases` have one type and the matrix's rows, and a group
       is a multiple of 32 numbers.
    4. (C4) `c` is of `F`; `a` and `into` are too, or of bf16 if `F` is f32. A
       place comes with `into`.
    5. (C5) `rounded` is for `F` = f32, with `a` not transposed.
    6. (C6) `T` and `N` are at least 1.
    7. (C7) `prologue` and `epilogue` take `(F, index, index)` and yield one `F`.

    Example:

    ```mlir
    tile.product %y[%i0, %j0], %x[%i0, %c0], %w[%j0, %c0]
        size(%m, %c64, %c896) in [512, 64] transpose_w read_ahead
        : memref<256x4864xf32>, memref<256x896xf32>, memref<4864x896xf32>
        epilogue (%acc, %i, %j) {
      %jj = arith.addi %j0, %j : index
      %b = memref.load %bias[%jj] : memref<4864xf32>
      %r = arith.addf %acc, %b : f32
      tile.yield %r : f32
    }
    tile.product %da[%c0, %j0], %u[%c0, %c0], %x[%c0, %j0]
        size(%c8, %c64, %m) in [256, 64] accumulate transpose_a few_rows
        : memref<8x896xf32>, memref<256x8xf32>, memref<256x896xf32>
    ```
  }];
  let arguments = (ins Arg<FloatMatrix, "", [MemRead, MemWrite]>:$c,
                       Index:$cRow, Index:$cColumn,
                       Arg<ActivationMatrix, "", [MemRead]>:$a,
                       Index:$aRow, Index:$aColumn,
                       Arg<SourceMatrix, "", [MemRead]>:$w,
                       Index:$wRow, Index:$wColumn,
                       Index:$m, Index:$n, Index:$k,
                       I64Attr:$terms, I64Attr:$columns,
                       UnitAttr:$accumulate, UnitAttr:$transposeA,
                       UnitAttr:$transposeW, UnitAttr:$rounded,
                       UnitAttr:$anyOrder, UnitAttr:$readAhead, UnitAttr:$fewRows,
                       UnitAttr:$padded,
                       Arg<Optional<ActivationMatrix>, "", [MemWrite]>:$into,
                       Variadic<Index>:$intoAt,
                       Arg<Optional<GroupMatrix>, "", [MemRead]>:$scales,
                       Arg<Optional<GroupMatrix>, "", [MemRead]>:$biases,
                       OptionalAttr<I64Attr>:$bits);
  let regions = (region AnyRegion:$prologue, AnyRegion:$epilogue);
  let assemblyFormat = [{
    $c `[` $cRow `,` $cColumn `]` `,` $a `[` $aRow `,` $aColumn `]` `,`
    $w `[` $wRow `,` $wColumn `]` `size` `(` $m `,` $n `,` $k `)`
    `in` ` ` `[` $terms `,` $columns `]` (`accumulate` $accumulate^)?
    (`transpose_a` $transposeA^)? (`transpose_w` $transposeW^)?
    (`rounded` $rounded^)? (`any_order` $anyOrder^)?
    (`read_ahead` $readAhead^)?
    (`few_rows` $fewRows^)? (`padded` $padded^)?
    (`into` $into^ `[` $intoAt `]`)?
    (`scales` $scales^ `biases` $biases `bits` $bits)? attr-dict
    `:` type($c) `,` type($a) `,` type($w) (`into` type($into)^)?
    (`,` type($scales)^ `,` type($biases))?
    custom<Bodies>($prologue, $epilogue, ref(type($c)))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Loops over elements
//===----------------------------------------------------------------------===//

def MapOp : TileOp<"map",
    [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "an element-wise loop nest";
  let description = [{
    Runs the scalar body for every point of the box. Iterations are independent:
    none reads an element that another writes. Targets run neighbours in the
    last variable together when every store's last index is that variable plus
    something invariant and loads are the same or invariant in it; otherwise the
    loop stays scalar.

    1. (C1) There are one or two bounds, and as many `index` variables.
    2. (C2) The body yields nothing.

    Example:

    ```mlir
    tile.map (%i, %j) in (%rows, %c896) {
      %x = memref.load %in[%i, %j] : memref<256x896xf32>
      %y = arith.mulf %x, %scale : f32
      memref.store %y, %out[%i, %j] : memref<256x896xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Index>:$bounds);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$bounds,
      "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, "
      "::mlir::ValueRange)>":$bodyBuilder)>];
}

def ReduceOp : TileOp<"reduce", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "fold a row of values to scalars";
  let description = [{
    Joins the values that the body yields for `j < bound`, each result with its
    own combination. The identity is 0 for `add` and -infinity for `max`; a
    `max` over a NaN is NaN. The order of the joins depends only on `bound` and
    on the target's vector width. The body may store as in `tile.map`.

    1. (C1) There is one combination for each result, and at least one result.
    2. (C2) The region takes one `index`.
    3. (C3) The body yields one value of each result's type.
    4. (C4) Results are f32 or f64.

    Example:

    ```mlir
    %sum = tile.reduce (%j) in (%n) combine [add] : f32 {
      %x = memref.load %in[%i, %j] : memref<256x896xf32>
      %xx = arith.mulf %x, %x : f32
      tile.yield %xx : f32
    }
    ```
  }];
  let arguments = (ins Index:$bound, CombineArrayAttr:$combine);
  let results = (outs Variadic<AnyType>:$values);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$bound,
      "::llvm::ArrayRef<Combine>":$combine, "::mlir::TypeRange":$types,
      "::llvm::function_ref<::llvm::SmallVector<::mlir::Value>("
      "::mlir::OpBuilder &, ::mlir::Location, ::mlir::Value)>":$bodyBuilder)>];
}

def YieldOp : TileOp<"yield", [Pure, ReturnLike, Terminator,
    ParentOneOf<["ParallelOp", "EachOp", "ProductOp", "MapOp", "ReduceOp"]>]> {
  let summary = "end a tile body";
  let description = [{
    Hands values to the enclosing op; bodies that yield nothing omit it in text.

    Example:

    ```mlir
    %count = tile.reduce (%j) in (%n) combine [add] : f32 {
      tile.yield %one : f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ }]>];
}

#endif // HONE_DIALECTS_TILE_TILEOPS_TD
