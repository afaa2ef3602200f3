//===- Offload.td - Values that rest in a file between two calls ----------===//

#ifndef HONE_OPS_OFFLOAD_TD
#define HONE_OPS_OFFLOAD_TD

include "dialects/Hone/ops/OpBase.td"

// Values that rest in a file between forward and backward. Reading and writing
// it goes on beside the calls that follow, and values rest meanwhile.
class Hone_FileOp<string mnemonic> : Hone_Op<mnemonic, [
    ParentOneOf<["EntryOp"]>]> {
  let hasVerifier = 1;
}

def Hone_OffloadOp : Hone_FileOp<"offload"> {
  let summary = "begins to write a value to the file of offloaded values";
  let description = [{
    To the bytes from `offset` on. Until the `hone.await` after it, `x` must
    stay as it is; it may be read. `hone-offload-inputs` makes it.

    1. (C1) `x` has rows in its first dimension and in no other.
    2. (C2) `offset` is a multiple of 4096 and not negative.
    3. (C3) a `hone.await` of `x` comes later.

    Example:
    ```mlir
    hone.block @start() -> tensor<?x4xf32> {
      %x = hone.input "hidden" : tensor<?x4xf32>
      %y = hone.add %x, %x : tensor<?x4xf32>
      hone.return %y : tensor<?x4xf32>
    }
    hone.block @backward(%x: tensor<?x4xf32>) {
      hone.return
    }
    hone.entry gradient @gradient() {
      %x = hone.call @start "" () : () -> tensor<?x4xf32>
      hone.offload %x to 0 : tensor<?x4xf32>
      hone.await %x : tensor<?x4xf32>
      %y = hone.reload 0 : tensor<?x4xf32>
      hone.await %y : tensor<?x4xf32>
      hone.call @backward "layers.3." (%y) : (tensor<?x4xf32>) -> ()
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$offset);
  let assemblyFormat = "$x `to` $offset attr-dict `:` type($x)";
  let extraClassDeclaration = [{
    /// The alignment of offsets in the file: pages of the system's cache are
    /// released whole.
    static constexpr int64_t alignment = 4096;

    /// Bytes that are written with `rows` rows.
    int64_t getBytes(int64_t rows) {
      return ::hone::bytesAtRows(getX().getType(), rows);
    }
  }];
}

def Hone_ReloadOp : Hone_FileOp<"reload"> {
  let summary = "begins to read a value from the file of offloaded values";
  let description = [{
    Reads the value that a `hone.offload` wrote at `offset`, into memory of its
    own. It is there from the `hone.await` on, which is the first to use it.
    `hone.offload` has an example.

    1. (C1) a `hone.offload` of the same type to the same `offset` comes before.
    2. (C2) the first use is a `hone.await`.
  }];
  let arguments = (ins I64Attr:$offset);
  let results = (outs AnyRankedTensor:$x);
  let assemblyFormat = "$offset attr-dict `:` type($x)";
}

def Hone_AwaitOp : Hone_FileOp<"await"> {
  let summary = "waits for a value to be written, or to be there";
  let description = [{
    Afterwards the transfer that `hone.offload` or `hone.reload` began with `x`
    has ended. `hone.offload` has an example.

    1. (C1) `x` is offloaded, or the result of `hone.reload`.
  }];
  let arguments = (ins AnyRankedTensor:$x);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

#endif // HONE_OPS_OFFLOAD_TD
