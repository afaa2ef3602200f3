//===- TileOps.td - The tile dialect: the waist above the targets ---------===//
//
// What every target can run and nothing more: panels, register-tile products,
// element-wise loops, row reductions, and independent iterations. Bodies are
// scalar code; widening them (or mapping them to threads) is the target's work,
// so no vector type ever appears in this dialect.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_DIALECTS_TILE_TILEOPS_TD
#define HONE_DIALECTS_TILE_TILEOPS_TD

include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Dialect
//===----------------------------------------------------------------------===//

def TileDialect : Dialect {
  let name = "tile";
  let cppNamespace = "::hone::tile";
  let summary = "kernel pieces shared by all targets";
  let description = [{
    The waist between the model and the machines. Operands are memrefs of static
    shape and identity layout; the number of rows is a run-time `index`. Nothing
    here allocates: buffers are views of the arena (`tile.view`) or private
    scratch (`tile.parallel`).

    All arithmetic has a fixed order: a result depends on the operands and the
    target's vector width, never on threads or on the order of iterations.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let extraClassDeclaration = [{
    /// Module attribute, i64: bytes of private scratch that each thread needs.
    /// Set where `tile.parallel` is outlined, read when the module is emitted.
    static constexpr ::llvm::StringLiteral kThreadBytesAttrName =
        "tile.thread_bytes";
    /// Module attribute, i64: bytes of the constant tables that kernels read.
    /// Set where kernels are made.
    static constexpr ::llvm::StringLiteral kTableBytesAttrName =
        "tile.table_bytes";
  }];
}

class TileOp<string mnemonic, list<Trait> traits = []>
    : Op<TileDialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

def HasIdentityLayout
    : CPred<"::llvm::cast<::mlir::MemRefType>($_self).getLayout().isIdentity()">;

class TileBuffer<list<Type> elements, string elementNames>
    : ConfinedType<MemRefOf<elements>, [HasStaticShapePred, HasIdentityLayout],
          "a memref of " # elementNames #
          " with static shape and identity layout",
          "::mlir::MemRefType">;

class TileMatrix<list<Type> elements, string elementNames>
    : ConfinedType<MemRefRankOf<elements, [2]>,
          [HasStaticShapePred, HasIdentityLayout],
          "a 2-d memref of " # elementNames #
          " with static shape and identity layout",
          "::mlir::MemRefType">;

def AnyBuffer : TileBuffer<[AnyType], "any type">;
def FloatMatrix : TileMatrix<[F32, F64], "f32 or f64">;
def PanelMatrix : TileMatrix<[F32, F64, BF16], "f32, f64 or bf16">;
def SourceMatrix : TileMatrix<[F32, F64, BF16, I8], "f32, f64, bf16 or i8">;
def GroupMatrix : TileMatrix<[F32], "f32">;

def CombineAdd : I32EnumAttrCase<"add", 0>;
def CombineMax : I32EnumAttrCase<"max", 1>;
def CombineAttr : I32EnumAttr<"Combine", "how `tile.reduce` joins two values",
                              [CombineAdd, CombineMax]> {
  let cppNamespace = "::hone::tile";
}
def CombineArrayAttr
    : TypedArrayAttrBase<CombineAttr, "one combination for each result">;

//===----------------------------------------------------------------------===//
// Memory and threads
//===----------------------------------------------------------------------===//

def ViewOp : TileOp<"view", [Pure]> {
  let summary = "a typed buffer at a byte offset of a pointer or a buffer";
  let description = [{
    The only way from the pointers of the C ABI (`hone_frame`) to memrefs, and
    from a buffer to a part of it. The address must be aligned for the element
    type; the arena and thread scratch are 64-byte aligned, so offsets that are
    multiples of 64 suffice.

    Example:

    ```mlir
    %x = tile.view %arena[%offset] : !llvm.ptr -> memref<256x896xf32>
    %t = tile.view %x[%row] : memref<256x896xf32> -> memref<64x896xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[LLVM_AnyPointer, AnyBuffer]>:$base,
                       Index:$byteOffset);
  let results = (outs AnyBuffer:$buffer);
  let assemblyFormat = [{
    $base `[` $byteOffset `]` attr-dict `:` qualified(type($base)) `->`
    type($buffer)
  }];
}

def ParallelOp : TileOp<"parallel",
    [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "independent iterations, in any order, on any thread";
  let description = [{
    Runs the body for each index in `[0, count)`. `private` buffers are scratch
    of the running thread; their content at the start of an iteration is
    undefined.

    1. (C1) The enclosing function's first argument is the frame, `!llvm.ptr`
       to a `hone_frame`; the pool and the scratch are found through it.
    2. (C2) Parallel loops do not nest.
    3. (C3) The region's arguments are the index, then one buffer per private
       type.
    4. (C4) Private buffers have static shape and identity layout.

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
    a file and not written to: what is read again is read from the file.

    Example:

    ```mlir
    tile.release %w[%row] size %count : memref<4864x896xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

def FillOp : TileOp<"fill", [AttrSizedOperandSegments]> {
  let summary = "copy a piece of a matrix into a panel";
  let description = [{
    For `k < height` and `j < width`,

        panel[k][j] = source[row + k][column + j]
        panel[k][j] = source[row + j][column + k]        with `transpose`

    and zero for `width <= j < NR`, where `NR` is the panel's second dimension.
    Rows from `height` on are left as they are. Converts the element type.

    A source of bytes is packed integers of `bits` bits, the low half of a byte
    first. A row's columns fall into as many groups as `scales` and `biases` have
    columns, and each number is `scales[r][g] * q + biases[r][g]`, in the panel's
    element type and rounded once. `row`, `column` and sizes count numbers.

    Preconditions, not checked at run time: `height` and `width` fit the panel,
    and the piece lies inside the source. In a packed source, `column` is a
    multiple of the panel's vectors, so that no vector is in two groups: of NR
    or of 16, whichever is less.

    1. (C1) `scales`, `biases` and `bits` come together, with a source of bytes.
    2. (C2) `bits` is 4 or 8.
    3. (C3) `scales` and `biases` have one type and the source's rows, and a group
       is a multiple of 32 numbers.

    Example:

    ```mlir
    tile.fill %panel, %w[%n, %k] size(%kc, %nc) transpose
        : memref<896x64xf32>, memref<4864x896xf32>
    tile.fill %panel, %q[%n, %k] size(%kc, %nc) transpose
        scales %s biases %b bits 4
        : memref<896x64xf32>, memref<4864x448xi8>, memref<4864x14xf32>, memref<4864x14xf32>
    ```
  }];
  let arguments = (ins Arg<PanelMatrix, "", [MemWrite]>:$panel,
      Arg<SourceMatrix, "", [MemRead]>:$source, Index:$row, Index:$column,
      Index:$height, Index:$width, UnitAttr:$transpose,
      Arg<Optional<GroupMatrix>, "", [MemRead]>:$scales,
      Arg<Optional<GroupMatrix>, "", [MemRead]>:$biases,
      OptionalAttr<I64Attr>:$bits);
  let assemblyFormat = [{
    $panel `,` $source `[` $row `,` $column `]` `size` `(` $height `,` $width
    `)` (`transpose` $transpose^)?
    (`scales` $scales^ `biases` $biases `bits` $bits)? attr-dict `:`
    type($panel) `,` type($source) (`,` type($scales)^ `,` type($biases))?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Numbers that share a scale; 0 if the source is not packed.
    int64_t getGroup();
  }];
}

def ContractOp : TileOp<"contract",
    [RecursiveMemoryEffects, SingleBlock, AttrSizedOperandSegments]> {
  let summary = "multiply rows of a matrix with a panel into a piece of another";
  let description = [{
    With `acc[i][j] = sum over kk < k of a[ai + i][ak + kk] * panel[kk][j]`
    (`a[ak + kk][ai + i]` with `transpose_a`), for `i < m` and `j < n`,

        c[ci + i][cj + j] = epilogue(
            (accumulate ? c[ci + i][cj + j] : 0) + acc[i][j], i, j)

    The sum starts at zero, or with `from %sums[row, column]` at
    `sums[row + i][column + j]`, and runs over ascending `kk` in fused
    multiply-adds: a long sum in pieces has the bits of the whole, and `sums` may
    be where `c` is; `accumulate` adds once, at the end, and the epilogue is
    applied to what is then complete. `m` and `k` may be zero: `m = 0` does
    nothing and `k = 0` gives `acc = 0`. All `NR` columns of the first `k` panel
    rows are read, so they must have been filled.

    `%panel[row, column]` reads a matrix where it is, as if the piece from there
    on had been filled into a panel of `n` columns. If `n` is no constant, as many
    columns as the target's panels have must be inside of the matrix.

    The epilogue is scalar code as in `tile.map` and stores nothing. It may load
    what the product does not write, and the element of `c` that it is for. If
    indices of loads are `i`, `j`, or one of them plus something invariant, with
    `j` in the last one only, targets run it on the sums before they store them.

    `ahead %w[row, column, height, width]` names a piece of memory that will be
    read soon. It is a hint without meaning: a target may ask for the piece
    while it multiplies.

    A panel of bf16 with `c` and `a` of f32 asks for operands of bfloat16: `a` is
    rounded to it too, and sums are f32, of two products at a time. How such a
    panel lies in memory is the target's affair; it must have been filled in one
    piece.

    1. (C1) `c`, `a` and `panel` share one element type `T`; or the panel is bf16,
       `T` is f32, and `a` is not transposed.
    2. (C2) The epilogue takes `(T, index, index)`.
    3. (C3) The epilogue yields one `T`.
    4. (C4) With `ahead` come four indices, without it none.
    5. (C5) A panel's position has two indices, and a bf16 panel has none.
    6. (C6) `sums` has the element type `T`, and two indices.

    Example:

    ```mlir
    tile.contract %y[%i0, %j0], %x[%i0, %c0], %panel size(%m, %c64, %kc)
        ahead %w[%next, %c0, %c64, %kc]
        : memref<256x4864xf32>, memref<256x896xf32>, memref<896x64xf32>, memref<4864x896xf32>
        epilogue (%acc, %i, %j) {
      %jj = arith.addi %j0, %j : index
      %b = memref.load %bias[%jj] : memref<4864xf32>
      %r = arith.addf %acc, %b : f32
      tile.yield %r : f32
    }
    tile.contract %da[%c0, %j0], %u[%c0, %c0], %x[%c0, %j0] size(%c8, %c64, %m)
        transpose_a : memref<8x896xf32>, memref<256x8xf32>, memref<256x896xf32>
    ```
  }];
  let arguments = (ins Arg<FloatMatrix, "", [MemRead, MemWrite]>:$c,
                       Index:$cRow, Index:$cColumn,
                       Arg<FloatMatrix, "", [MemRead]>:$a,
                       Index:$aRow, Index:$aK,
                       Arg<PanelMatrix, "", [MemRead]>:$panel,
                       Variadic<Index>:$panelAt,
                       Index:$m, Index:$n, Index:$k,
                       Arg<Optional<FloatMatrix>, "", [MemRead]>:$sums,
                       Variadic<Index>:$sumsAt,
                       Optional<SourceMatrix>:$ahead,
                       Variadic<Index>:$aheadPiece,
                       UnitAttr:$accumulate, UnitAttr:$transposeA);
  let regions = (region AnyRegion:$epilogue);
  let assemblyFormat = [{
    $c `[` $cRow `,` $cColumn `]` `,` $a `[` $aRow `,` $aK `]` `,` $panel
    (`[` $panelAt^ `]`)? `size` `(` $m `,` $n `,` $k `)` (`accumulate` $accumulate^)?
    (`transpose_a` $transposeA^)? (`from` $sums^ `[` $sumsAt `]`)?
    (`ahead` $ahead^ `[` $aheadPiece `]`)? attr-dict
    `:` type($c) `,` type($a) `,` type($panel) (`from` type($sums)^)?
    (`,` type($ahead)^)?
    custom<Epilogue>($epilogue, ref(type($c)))
  }];
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$c, "::mlir::Value":$cRow,
      "::mlir::Value":$cColumn, "::mlir::Value":$a, "::mlir::Value":$aRow,
      "::mlir::Value":$aK, "::mlir::Value":$panel,
      "::mlir::ValueRange":$panelAt, "::mlir::Value":$m,
      "::mlir::Value":$n, "::mlir::Value":$k,
      CArg<"bool", "false">:$accumulate, CArg<"bool", "false">:$transposeA,
      CArg<"::llvm::function_ref<::mlir::Value(::mlir::OpBuilder &, "
           "::mlir::Location, ::mlir::Value, ::mlir::Value, ::mlir::Value)>",
           "nullptr">:$epilogueBuilder,
      CArg<"::mlir::Value", "{}">:$ahead,
      CArg<"::mlir::ValueRange", "{}">:$aheadPiece,
      CArg<"::mlir::Value", "{}">:$sums,
      CArg<"::mlir::ValueRange", "{}">:$sumsAt)>];
}

//===----------------------------------------------------------------------===//
// Loops over elements
//===----------------------------------------------------------------------===//

def MapOp : TileOp<"map",
    [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "an element-wise loop nest";
  let description = [{
    Runs the scalar body for every point of the box. Iterations are independent:
    none reads what another writes. Targets run neighbours in the last variable
    together when every store's last index is that variable plus something
    invariant and loads are the same or invariant in it; otherwise the loop
    stays scalar.

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
    ParentOneOf<["ParallelOp", "ContractOp", "MapOp", "ReduceOp"]>]> {
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
