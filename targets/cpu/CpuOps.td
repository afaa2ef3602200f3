//===- CpuOps.td - Panels and register tiles of a CPU ---------------------===//
//
// `tile.product` on a CPU: a piece of one operand is copied into a panel, whose
// rows are whole vectors, and rows of the other are multiplied with it.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_CPU_CPUOPS_TD
#define HONE_TARGETS_CPU_CPUOPS_TD

include "dialects/Tile/TileBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def CpuDialect : Dialect {
  let name = "cpu";
  let cppNamespace = "::hone::cpu";
  let summary = "products of matrices as CPUs take them";
  let description = [{
    Panels are private buffers of the `tile.parallel` around. Everything else is
    as in the tile dialect.
  }];
  let dependentDialects = ["::hone::tile::TileDialect"];
}

class CpuOp<string mnemonic, list<Trait> traits = []>
    : Op<CpuDialect, mnemonic, traits>;

def CpuPanel : TileMatrix<[F32, F64, BF16], "f32, f64 or bf16">;

def FillOp : CpuOp<"fill", [AttrSizedOperandSegments]> {
  let summary = "copy a piece of a matrix into a panel";
  let description = [{
    For `k < height` and `j < width`,

        panel[k][j] = source[row + k][column + j]
        panel[k][j] = source[row + j][column + k]        with `transpose`

    and zero for `width <= j < NR`, where `NR` is the panel's second dimension.
    Rows from `height` on are left as they are, but in a panel of bf16, which is
    filled up with zeros to a multiple of 32 rows. Converts the element type.

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
    4. (C4) a panel of bf16 has a multiple of 32 rows.

    Example:

    ```mlir
    cpu.fill %panel, %w[%n, %k] size(%kc, %nc) transpose
        : memref<896x64xf32>, memref<4864x896xf32>
    cpu.fill %panel, %q[%n, %k] size(%kc, %nc) transpose
        scales %s biases %b bits 4
        : memref<896x64xf32>, memref<4864x448xi8>, memref<4864x14xf32>, memref<4864x14xf32>
    ```
  }];
  let arguments = (ins Arg<CpuPanel, "", [MemWrite]>:$panel,
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

def ContractOp : CpuOp<"contract",
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
    applied to the complete sum. `m` and `k` may be zero: `m = 0` does
    nothing and `k = 0` gives `acc = 0`. All `NR` columns of the first `k` panel
    rows are read, so they must have been filled.

    `%panel[row, column]` reads a matrix where it is, as if the piece from there
    on had been filled into a panel of `n` columns. If `n` is no constant, as many
    columns as the target's panels have must be inside of the matrix.

    The epilogue is scalar code as in `tile.map` and stores nothing. It may load
    memory that the product does not write, and its own element of `c`. If
    indices of loads are `i`, `j`, or one of them plus something invariant, with
    `j` in the last one only, targets run it on the sums before they store them.

    `ahead %w[row, column, height, width]` names a piece of memory that will be
    read soon. It is a hint without meaning: a target may ask for the piece
    while it multiplies.

    Sums are of type `T`, that of `c`, or f32 if `c` is of bf16: then a complete
    sum is rounded as it is stored. A panel of bf16 asks for operands of
    bfloat16: `a` is rounded to it too, and sums are f32, of two products at a
    time. How such a panel lies in memory is the target's affair; it must have
    been filled in one piece.

    1. (C1) `c` is of type `T`, or of bf16 without `accumulate`; `a` is of `T`,
       or of bf16, which is widened, where `T` is f32. It is not transposed if
       the panel is bf16.
    2. (C2) The epilogue takes `(T, index, index)`.
    3. (C3) The epilogue yields one `T`.
    4. (C4) With `ahead` come four indices, without it none.
    5. (C5) A panel's position has two indices, and a bf16 panel has none.
    6. (C6) `sums` has the element type `T`, and two indices.

    Example:

    ```mlir
    cpu.contract %y[%i0, %j0], %x[%i0, %c0], %panel size(%m, %c64, %kc)
        ahead %w[%next, %c0, %c64, %kc]
        : memref<256x4864xf32>, memref<256x896xf32>, memref<896x64xf32>, memref<4864x896xf32>
        epilogue (%acc, %i, %j) {
      %jj = arith.addi %j0, %j : index
      %b = memref.load %bias[%jj] : memref<4864xf32>
      %r = arith.addf %acc, %b : f32
      cpu.yield %r : f32
    }
    cpu.contract %da[%c0, %j0], %u[%c0, %c0], %x[%c0, %j0] size(%c8, %c64, %m)
        transpose_a : memref<8x896xf32>, memref<256x8xf32>, memref<256x896xf32>
    ```
  }];
  let arguments = (ins Arg<ActivationMatrix, "", [MemRead, MemWrite]>:$c,
                       Index:$cRow, Index:$cColumn,
                       Arg<ActivationMatrix, "", [MemRead]>:$a,
                       Index:$aRow, Index:$aK,
                       Arg<CpuPanel, "", [MemRead]>:$panel,
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
  let extraClassDeclaration = [{
    /// T: the type of sums, and of the epilogue's argument and result.
    ::mlir::Type getSumType();
  }];
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

def DotsOp : CpuOp<"dots", [AttrSizedOperandSegments]> {
  let summary = "multiply a row with rows of a matrix where they are";
  let description = [{
    For `j < N`, where `N` is the second dimension of `sums` and `K` is how many
    numbers a row of `w` has,

        sums[i][j] = (accumulate ? sums[i][j] : 0)
                   + sum over t < K of a[ai][at + t] * w[wi + j][t]

    Lanes are terms: each number of `w` is read once, in the order of memory,
    straight into registers, and the rows that follow are asked for meanwhile.
    That counts most where there is little to multiply. So a sum has another
    order than out of a panel: one chain for each lane, and lanes are joined by
    halving. The chain of a packed `w` adds `scale * sum(a q) + bias * sum(a)` of
    the terms that a vector of words has in the lane.

    `scratch` is for the row of `a` in the order in which words hold numbers.

    A `w` of bytes is packed integers as in `cpu.fill`.

    Preconditions, not checked at run time: `N` rows from `wi` on lie inside of
    `w`, and `K` numbers from `at` on inside of `a`'s row.

    1. (C1) `scales`, `biases` and `bits` come together, with a source of bytes.
    2. (C2) `bits` is 4 or 8.
    3. (C3) `scales` and `biases` have one type and the source's rows, and a group
       is a multiple of 32 numbers.
    4. (C4) `sums` and `scratch` are of f32, `a` of f32 or bf16, and `w` is not of
       f64.
    5. (C5) A row of `w` is whole units of 16 bytes.
    6. (C6) `scratch` has at least `scratchNumbers` numbers.

    Example:

    ```mlir
    cpu.dots %sums[%c0], %x[%c0, %c0], %w[%j0], %scratch
        : memref<2x64xf32>, memref<1x896xf32>, memref<4864x896xbf16>, memref<1x1008xf32>
    cpu.dots %sums[%c0], %x[%c0, %c0], %q[%j0], %scratch accumulate
        scales %s biases %b bits 4
        : memref<2x64xf32>, memref<1x896xf32>, memref<4864x448xi8>, memref<1x1008xf32>, memref<4864x14xf32>, memref<4864x14xf32>
    ```
  }];
  let arguments = (ins Arg<FloatMatrix, "", [MemRead, MemWrite]>:$sums,
      Index:$row, Arg<ActivationMatrix, "", [MemRead]>:$a, Index:$aRow,
      Index:$aK, Arg<SourceMatrix, "", [MemRead]>:$w, Index:$wRow,
      Arg<FloatMatrix, "", [MemWrite]>:$scratch, UnitAttr:$accumulate,
      Arg<Optional<GroupMatrix>, "", [MemRead]>:$scales,
      Arg<Optional<GroupMatrix>, "", [MemRead]>:$biases,
      OptionalAttr<I64Attr>:$bits);
  let assemblyFormat = [{
    $sums `[` $row `]` `,` $a `[` $aRow `,` $aK `]` `,` $w `[` $wRow `]` `,`
    $scratch (`accumulate` $accumulate^)?
    (`scales` $scales^ `biases` $biases `bits` $bits)? attr-dict `:`
    type($sums) `,` type($a) `,` type($w) `,` type($scratch)
    (`,` type($scales)^ `,` type($biases))?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Numbers in a row of a matrix `w` that is stored so.
    static int64_t numbersOf(::mlir::MemRefType w, std::optional<int64_t> bits);
    /// Whether (C5) holds.
    static bool canRead(::mlir::MemRefType w);
    /// Numbers of scratch that (C6) asks for: the row, up to whole vectors of
    /// words of 512 bits, and a sum for each of the words if `w` is packed.
    static int64_t scratchNumbers(::mlir::MemRefType w,
                                  std::optional<int64_t> bits);
    /// Numbers that share a scale; 0 if `w` is not packed.
    int64_t getGroup();
  }];
}

def Cpu_YieldOp : CpuOp<"yield", [Pure, ReturnLike, Terminator,
    ParentOneOf<["ContractOp"]>]> {
  let summary = "end an epilogue";
  let description = [{
    Hands the result of a sum to the enclosing op.

    Example:

    ```mlir
    cpu.contract %y[%i0, %j0], %x[%i0, %c0], %panel size(%m, %c64, %kc)
        : memref<256x4864xf32>, memref<256x896xf32>, memref<896x64xf32>
        epilogue (%acc, %i, %j) {
      cpu.yield %acc : f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // HONE_TARGETS_CPU_CPUOPS_TD
