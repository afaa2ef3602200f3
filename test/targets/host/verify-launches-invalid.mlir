// RUN: hone-opt %s --hone-host-verify-launches --split-input-file --verify-diagnostics

// The contents of a frame, its tables and its numbers are there again when an
// entry is called a second time, and so is a closure that is filled for its
// launch.
llvm.func @hone_launch(!llvm.ptr, i32, !llvm.ptr, i64)
llvm.func @sound(%frame: !llvm.ptr, %values: !llvm.ptr) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %kernel = llvm.mlir.constant(0 : i32) : i32
  %space = llvm.alloca %one x !llvm.struct<(ptr, i64)> : (i64) -> !llvm.ptr
  %0 = llvm.getelementptr %frame[6] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %rows = llvm.load %0 : !llvm.ptr -> i64
  %1 = llvm.getelementptr %values[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %value = llvm.load %1 : !llvm.ptr -> !llvm.ptr
  %2 = llvm.getelementptr %frame[8] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %numbers = llvm.load %2 : !llvm.ptr -> !llvm.ptr
  %3 = llvm.getelementptr %numbers[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %mask = llvm.load %3 : !llvm.ptr -> !llvm.ptr
  %4 = llvm.getelementptr %mask[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %number = llvm.load %4 : !llvm.ptr -> i64
  llvm.store %value, %space : !llvm.ptr, !llvm.ptr
  %5 = llvm.getelementptr %space[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, i64)>
  llvm.store %number, %5 : i64, !llvm.ptr
  llvm.call @hone_launch(%frame, %kernel, %space, %rows) : (!llvm.ptr, i32, !llvm.ptr, i64) -> ()
  llvm.return
}

// -----

// An input of the batch, wherever a block is called with one.
llvm.func @hone_launch(!llvm.ptr, i32, !llvm.ptr, i64)
llvm.func @block_of_batch(%frame: !llvm.ptr, %kernel: i32, %starts: !llvm.ptr) {
  %0 = llvm.getelementptr %starts[4] : (!llvm.ptr) -> !llvm.ptr, i64
  %count = llvm.load %0 : !llvm.ptr -> i64
  llvm.call @hone_launch(%frame, %kernel, %frame, %count) : (!llvm.ptr, i32, !llvm.ptr, i64) -> ()
  llvm.return
}
llvm.func @block_of_batch_entry(%frame: !llvm.ptr, %values: !llvm.ptr) {
  %kernel = llvm.mlir.constant(0 : i32) : i32
  %0 = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %batch = llvm.load %0 : !llvm.ptr -> !llvm.ptr
  %1 = llvm.getelementptr %batch[64] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.call @block_of_batch(%frame, %kernel, %1) : (!llvm.ptr, i32, !llvm.ptr) -> ()
  llvm.return
}

// -----

// One call with memory that kernels write is enough.
llvm.func @hone_launch(!llvm.ptr, i32, !llvm.ptr, i64)
llvm.func @block_of_work_2(%frame: !llvm.ptr, %kernel: i32, %starts: !llvm.ptr) {
  %0 = llvm.getelementptr %starts[4] : (!llvm.ptr) -> !llvm.ptr, i64
  // expected-error @+1 {{'llvm.load' op expects to read memory that no kernel writes}}
  %count = llvm.load %0 : !llvm.ptr -> i64
  llvm.call @hone_launch(%frame, %kernel, %frame, %count) : (!llvm.ptr, i32, !llvm.ptr, i64) -> ()
  llvm.return
}
llvm.func @block_of_work_2_entry(%frame: !llvm.ptr, %values: !llvm.ptr) {
  %kernel = llvm.mlir.constant(0 : i32) : i32
  %0 = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %batch = llvm.load %0 : !llvm.ptr -> !llvm.ptr
  %1 = llvm.getelementptr %batch[64] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.call @block_of_work_2(%frame, %kernel, %1) : (!llvm.ptr, i32, !llvm.ptr) -> ()
  %2 = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %work = llvm.load %2 : !llvm.ptr -> !llvm.ptr
  llvm.call @block_of_work_2(%frame, %kernel, %work) : (!llvm.ptr, i32, !llvm.ptr) -> ()
  llvm.return
}

// -----

llvm.func @hone_launch(!llvm.ptr, i32, !llvm.ptr, i64)
llvm.func @elsewhere(!llvm.ptr)
llvm.func @calls_1(%frame: !llvm.ptr, %values: !llvm.ptr, %kernel: i32, %count: i64) {
  llvm.call @hone_launch(%frame, %kernel, %frame, %count) : (!llvm.ptr, i32, !llvm.ptr, i64) -> ()
  // expected-error @+1 {{'llvm.call' op expects to be in a kernel: an entry calls only functions that launch}}
  llvm.call @elsewhere(%frame) : (!llvm.ptr) -> ()
  llvm.return
}

// -----

// Kernels write the arena.
llvm.func @hone_launch(!llvm.ptr, i32, !llvm.ptr, i64)
llvm.func @reads_2(%frame: !llvm.ptr, %values: !llvm.ptr) {
  %kernel = llvm.mlir.constant(0 : i32) : i32
  %0 = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %arena = llvm.load %0 : !llvm.ptr -> !llvm.ptr
  // expected-error @+1 {{'llvm.load' op expects to read memory that no kernel writes: an entry's launches may not depend on kernels}}
  %count = llvm.load %arena : !llvm.ptr -> i64
  llvm.call @hone_launch(%frame, %kernel, %frame, %count) : (!llvm.ptr, i32, !llvm.ptr, i64) -> ()
  llvm.return
}

// -----

// So is a value that the entry is called with.
llvm.func @hone_launch(!llvm.ptr, i32, !llvm.ptr, i64)
llvm.func @reads_a_value_2(%frame: !llvm.ptr, %values: !llvm.ptr) {
  %kernel = llvm.mlir.constant(0 : i32) : i32
  %value = llvm.load %values : !llvm.ptr -> !llvm.ptr
  // expected-error @+1 {{'llvm.load' op expects to read memory that no kernel writes}}
  %count = llvm.load %value : !llvm.ptr -> i64
  llvm.call @hone_launch(%frame, %kernel, %frame, %count) : (!llvm.ptr, i32, !llvm.ptr, i64) -> ()
  llvm.return
}

// -----

// The next launch may not find the same closure.
llvm.func @hone_launch(!llvm.ptr, i32, !llvm.ptr, i64)
llvm.func @keeps_3(%frame: !llvm.ptr, %values: !llvm.ptr, %kernel: i32, %count: i64) {
  %one = llvm.mlir.constant(1 : i64) : i64
  // expected-error @+1 {{'llvm.alloca' op expects to be one launch's closure, filled in its block: nothing else is kept between launches}}
  %space = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
  llvm.call @hone_launch(%frame, %kernel, %space, %count) : (!llvm.ptr, i32, !llvm.ptr, i64) -> ()
  llvm.call @hone_launch(%frame, %kernel, %space, %count) : (!llvm.ptr, i32, !llvm.ptr, i64) -> ()
  llvm.return
}

// -----

llvm.func @hone_launch(!llvm.ptr, i32, !llvm.ptr, i64)
llvm.func @writes_4(%frame: !llvm.ptr, %values: !llvm.ptr, %kernel: i32, %count: i64) {
  llvm.call @hone_launch(%frame, %kernel, %frame, %count) : (!llvm.ptr, i32, !llvm.ptr, i64) -> ()
  // expected-error @+1 {{'llvm.store' op expects to be in a kernel: an entry writes closures alone}}
  llvm.store %count, %frame : i64, !llvm.ptr
  llvm.return
}

// -----

// Tasks, and functions without launches, may do as they like.
llvm.func @task(%closure: !llvm.ptr, %index: i64, %thread: i64) {
  %0 = llvm.load %closure : !llvm.ptr -> !llvm.ptr
  llvm.store %index, %0 : i64, !llvm.ptr
  llvm.return
}
