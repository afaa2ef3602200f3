// RUN: hone-opt %s --hone-host-outline-parallel --verify-diagnostics

// expected-error @+1 {{expects the attribute 'tile.thread_bytes'; run hone-host-size-scratch first}}
module {
}
