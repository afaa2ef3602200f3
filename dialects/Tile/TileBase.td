//===- TileBase.td - The tile dialect: the waist above the targets --------===//
//
// Every target can run this, and nothing more is here: products of matrices,
// element-wise loops, row reductions, and independent iterations. Bodies are
// scalar code; widening them (or mapping them to threads) is the target's work,
// so neither vectors nor pointers appear in this dialect.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_DIALECTS_TILE_TILEBASE_TD
#define HONE_DIALECTS_TILE_TILEBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

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

    The runtime calls functions with the attribute `tile.entry`. They take
    nothing: `tile.rows`, `tile.base`, `tile.weight` and `tile.argument` say
    what they work on, and a target knows where that is. Memory is touched inside
    `tile.parallel` alone, so which loops run is a function of the rows and of
    the numbers that `tile.number` reads. Functions with the attribute
    `tile.host` are the exception: they run on the host, on scalars.
    `hone-verify-tiles` checks all of this.

    All arithmetic has a fixed order: a result depends on the operands and the
    target, never on threads or on the order of iterations.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Module attribute, i64: bytes of private scratch that each thread needs.
    /// Set where `tile.parallel` is outlined, read when the module is emitted.
    static constexpr ::llvm::StringLiteral kThreadBytesAttrName =
        "tile.thread_bytes";
    /// Module attribute, i64: bytes of the program that grow with the model: the
    /// constant tables that kernels read, and the calls of entries. Set where
    /// kernels are made.
    static constexpr ::llvm::StringLiteral kTableBytesAttrName =
        "tile.table_bytes";
    /// Module attribute, an array of `#tile.kernel`: the kernels of
    /// `hone_launch`, by number. Set where `tile.parallel` is outlined.
    static constexpr ::llvm::StringLiteral kKernelsAttrName = "tile.kernels";
    /// Function attribute, i8 for each value that an entry is called with:
    /// hone_item::sides. Set where names become addresses.
    static constexpr ::llvm::StringLiteral kSidesAttrName = "tile.sides";
    /// Function attribute, unit: the runtime calls it.
    static constexpr ::llvm::StringLiteral kEntryAttrName = "tile.entry";
    /// Function attribute, unit: it runs on the host and has no kernels.
    static constexpr ::llvm::StringLiteral kHostAttrName = "tile.host";
  }];
}

class TileOp<string mnemonic, list<Trait> traits = []>
    : Op<TileDialect, mnemonic, traits>;

def TileMemory : TypeDef<TileDialect, "Memory"> {
  let mnemonic = "memory";
  let summary = "a place in a device's memory, whose bytes have no type yet";
}

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
def AnyPlace : AnyTypeOf<[TileMemory, AnyBuffer]>;
def FloatMatrix : TileMatrix<[F32, F64], "f32 or f64">;
def ActivationMatrix : TileMatrix<[F32, F64, BF16], "f32, f64 or bf16">;
def SourceMatrix : TileMatrix<[F32, F64, BF16, I8], "f32, f64, bf16 or i8">;
def GroupMatrix : TileMatrix<[F32], "f32">;

def BaseArena : I32EnumAttrCase<"arena", 0>;
def BaseBatch : I32EnumAttrCase<"batch", 1>;
def BaseWork : I32EnumAttrCase<"work", 2>;
def MemoryBaseAttr : I32EnumAttr<"MemoryBase", "memory that an entry is given",
                           [BaseArena, BaseBatch, BaseWork]> {
  let cppNamespace = "::hone::tile";
}

def AccessNone : I32EnumAttrCase<"none", 0>;
def AccessRead : I32EnumAttrCase<"read", 1>;
def AccessWrite : I32EnumAttrCase<"write", 2>;
def AccessBoth : I32EnumAttrCase<"both", 3>;
def AccessAttr : I32EnumAttr<"Access", "a kernel's accesses to the memory whose "
                             "address is in a field of its closure",
                             [AccessNone, AccessRead, AccessWrite, AccessBoth]> {
  let cppNamespace = "::hone::tile";
}

def TileField : AttrDef<TileDialect, "Field"> {
  let mnemonic = "field";
  let summary = "a field of a kernel's closure";
  let description = [{
    Bytes from the closure's start, how many there are, and the kernel's access
    to the memory that it is the address of: `none` for a number.

    Example:

    ```mlir
    #tile.field<8, 8, read>
    ```
  }];
  let parameters = (ins "uint32_t":$offset, "uint32_t":$bytes,
                        EnumParameter<AccessAttr>:$access);
  let assemblyFormat = "`<` $offset `,` $bytes `,` $access `>`";
}

def TileKernel : AttrDef<TileDialect, "Kernel"> {
  let mnemonic = "kernel";
  let summary = "the kernel of a launch";
  let description = [{
    The compiler's side of `hone_kernel`. `symbol` is a task on CPUs, and else the
    kernel's name in the device's text, of whose threads and shared memory the
    numbers speak. `block` and `name` are for people.

    Example:

    ```mlir
    #tile.kernel<"decoder_kernel0" of "decoder", "lora_linear q_proj"
                 threads 256 shared 16384 fields[<0, 8, both>]>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$symbol,
                        "::mlir::StringAttr":$block,
                        "::mlir::StringAttr":$kernelName,
                        DefaultValuedParameter<"uint32_t", "0">:$threads,
                        DefaultValuedParameter<"uint32_t", "0">:$sharedBytes,
                        OptionalArrayRefParameter<"::hone::tile::FieldAttr">:$fields);
  let assemblyFormat = [{
    `<` $symbol `of` $block `,` $kernelName (`threads` $threads^)?
    (`shared` $sharedBytes^)? `fields` `[` (`]`) : ($fields^ `]`)? `>`
  }];
}

def CombineAdd : I32EnumAttrCase<"add", 0>;
def CombineMax : I32EnumAttrCase<"max", 1>;
def CombineAttr : I32EnumAttr<"Combine", "how `tile.reduce` joins two values",
                              [CombineAdd, CombineMax]> {
  let cppNamespace = "::hone::tile";
}
def CombineArrayAttr
    : TypedArrayAttrBase<CombineAttr, "one combination for each result">;

#endif // HONE_DIALECTS_TILE_TILEBASE_TD
