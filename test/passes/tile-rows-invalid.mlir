// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-tile-rows=rows=48

// expected-error @+1 {{expects the rows of a tile to be a multiple of 32, or 0 for no tiles, but got 48}}
module attributes {hone.max_rows = 256 : i64} {
}
