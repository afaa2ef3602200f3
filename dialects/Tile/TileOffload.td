//===- TileOffload.td - Buffers that rest in a file -----------------------===//

#ifndef HONE_TILE_OFFLOAD_TD
#define HONE_TILE_OFFLOAD_TD

include "dialects/Tile/TileBase.td"

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
  let summary = "waits for what was begun with a buffer";
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

#endif // HONE_TILE_OFFLOAD_TD
