// RUN: hone-opt %s -split-input-file -verify-diagnostics

func.func @copy_c1_type(%x: memref<8x64xf32>, %to: memref<8x64xbf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{expects one element type but got 'f32' and 'bf16'}}
  simt.copy %x[%i, %i] to %to[%i, %i] : memref<8x64xf32> to memref<8x64xbf16, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @copy_c1_whole(%x: memref<8x64xi4>, %to: memref<8x64xi4, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{expects elements of which 16 bytes hold a whole number but got 'i4'}}
  simt.copy %x[%i, %i] to %to[%i, %i] : memref<8x64xi4> to memref<8x64xi4, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @copy_c2(%x: memref<8x64xf32>, %to: memref<8x64xf32>, %i: index) {
  // expected-error @+1 {{expects to copy from the device's memory to shared memory but got 'memref<8x64xf32>' and 'memref<8x64xf32>'}}
  simt.copy %x[%i, %i] to %to[%i, %i] : memref<8x64xf32> to memref<8x64xf32>
  return
}

// -----

func.func @copy_c3_indices(%x: memref<8x64xf32>, %to: memref<8x64xf32, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{expects 2 indices of 'to' but got 1}}
  simt.copy %x[%i, %i] to %to[%i] : memref<8x64xf32> to memref<8x64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @copy_c3_rows(%x: memref<8x63xf32>, %to: memref<8x64xf32, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{expects rows of 'from' to begin at multiples of 16 bytes, and neighbours in them, but its type is 'memref<8x63xf32>'}}
  simt.copy %x[%i, %i] to %to[%i, %i] : memref<8x63xf32> to memref<8x64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @copy_c3_constant(%x: memref<8x64xf32>, %to: memref<8x64xf32, #gpu.address_space<workgroup>>, %i: index) {
  %two = arith.constant 2 : index
  // expected-error @+1 {{expects a multiple of 4 as the last index of 'to' but got 2}}
  simt.copy %x[%i, %i] to %to[%i, %two] : memref<8x64xf32> to memref<8x64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @load_matrices_c3(%x: memref<8x64xbf16>, %i: index) {
  // expected-error @+1 {{expects shared memory but got 'memref<8x64xbf16>'}}
  %a:4 = simt.load_matrices %x[%i, %i] : memref<8x64xbf16>
  return
}

// -----

func.func @load_matrices_c4(%x: memref<8x68xbf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{expects rows of 'memory' to begin at multiples of 16 bytes}}
  %a:4 = simt.load_matrices %x[%i, %i] : memref<8x68xbf16, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @multiply_group_c1(%x: memref<3x64x72xbf16, #gpu.address_space<workgroup>>, %w: memref<3x2x64xbf16, #gpu.address_space<workgroup>>, %i: index, %sum: f32) {
  // expected-error @+1 {{expects shared memory with stages of rows of 64 elements but got 'memref<3x64x72xbf16}}
  %a = simt.multiply_group %x[%i, %i], %w[%i] to %sum : memref<3x64x72xbf16, #gpu.address_space<workgroup>>, memref<3x2x64xbf16, #gpu.address_space<workgroup>>, f32
  return
}

// -----

func.func @multiply_group_c2(%x: memref<3x64x64xbf16, #gpu.address_space<workgroup>>, %w: memref<3x8x64xbf16, #gpu.address_space<workgroup>>, %i: index, %sum: f32) {
  // expected-error @+1 {{expects 4 sums but got 1}}
  %a = simt.multiply_group %x[%i, %i], %w[%i] to %sum : memref<3x64x64xbf16, #gpu.address_space<workgroup>>, memref<3x8x64xbf16, #gpu.address_space<workgroup>>, f32
  return
}

// -----

func.func @multiply_group_c2_goes_on(%x: memref<3x64x64xbf16, #gpu.address_space<workgroup>>, %w: memref<3x8x64xbf16, #gpu.address_space<workgroup>>, %i: index, %sum: f32) {
  // expected-error @+1 {{expects 4 sums but got 1}}
  %a = simt.multiply_group %x[%i, %i], %w[%i] to %sum goes_on : memref<3x64x64xbf16, #gpu.address_space<workgroup>>, memref<3x8x64xbf16, #gpu.address_space<workgroup>>, f32
  return
}

// -----

func.func @finish_groups_types(%sum: f32) {
  // expected-error @+1 {{failed to verify that all of {sums, results} have same type}}
  %a:2 = "simt.finish_groups"(%sum) : (f32) -> (f32, f32)
  return
}

// -----

func.func @group_dots_c1(%x: memref<8192xbf16>, %i: index) {
  // expected-error @+1 {{expects shared memory of one dimension but got 'memref<8192xbf16>'}}
  %a:4 = simt.group_dots %x[%i] rows(64), [%i] rows(64) columns 8 features 64 : memref<8192xbf16> -> f32, f32, f32, f32
  return
}

// -----

func.func @group_dots_c3_places(%x: memref<8192xbf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{expects as many places on the left as on the right but got 2 and 1}}
  %a:4 = simt.group_dots %x[%i, %i] rows(64), [%i] rows(64) columns 8 features 64 : memref<8192xbf16, #gpu.address_space<workgroup>> -> f32, f32, f32, f32
  return
}

// -----

func.func @group_dots_c3_columns(%x: memref<8192xbf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{expects a multiple of 8 columns up to 128 but got 12}}
  %a:4 = simt.group_dots %x[%i] rows(64), [%i] rows(64) columns 12 features 64 : memref<8192xbf16, #gpu.address_space<workgroup>> -> f32, f32, f32, f32
  return
}

// -----

func.func @group_dots_c3_features(%x: memref<8192xbf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{expects a multiple of 64 features but got 96}}
  %a:4 = simt.group_dots %x[%i] rows(64), [%i] rows(64) columns 8 features 96 : memref<8192xbf16, #gpu.address_space<workgroup>> -> f32, f32, f32, f32
  return
}

// -----

func.func @group_dots_c3_results(%x: memref<8192xbf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{expects 4 results but got 1}}
  %a = simt.group_dots %x[%i] rows(64), [%i] rows(64) columns 8 features 64 : memref<8192xbf16, #gpu.address_space<workgroup>> -> f32
  return
}

// -----

func.func @group_add_c1(%x: memref<8192xbf16>, %w: i32, %i: index, %sum: f32) {
  // expected-error @+1 {{expects shared memory of one dimension but got 'memref<8192xbf16>'}}
  %a = simt.group_add (%w, %w, %w, %w), %x[%i] rows(64) to %sum : memref<8192xbf16> -> f32
  return
}

// -----

func.func @group_add_c3_words(%x: memref<8192xbf16, #gpu.address_space<workgroup>>, %w: i32, %i: index, %sum: f32) {
  // expected-error @+1 {{expects 4 words of whole terms for each place but got 2}}
  %a = simt.group_add (%w, %w), %x[%i] rows(64) to %sum : memref<8192xbf16, #gpu.address_space<workgroup>> -> f32
  return
}

// -----

func.func @group_add_c3_sums(%x: memref<8192xbf16, #gpu.address_space<workgroup>>, %w: i32, %i: index, %sum: f32) {
  // expected-error @+1 {{expects 32 sums of a panel, or of two, for each place but got 1}}
  %a = simt.group_add (%w, %w, %w, %w), %x[%i] rows(64) to %sum : memref<8192xbf16, #gpu.address_space<workgroup>> -> f32
  return
}

// -----

func.func @load_words_c2(%x: memref<8x68xbf16>, %i: index) {
  // expected-error @+1 {{expects rows of 'memory' to begin at multiples of 16 bytes}}
  %a:4 = simt.load_words %x[%i, %i] : memref<8x68xbf16>
  return
}

// -----

func.func @store_words_c2(%x: memref<8x64xbf16>, %i: index, %w: i32) {
  %four = arith.constant 4 : index
  // expected-error @+1 {{expects a multiple of 8 as the last index of 'memory' but got 4}}
  simt.store_words %w, %w, %w, %w, %x[%i, %four] : memref<8x64xbf16>
  return
}

// -----

func.func @store_numbers_c1_type(%x: memref<8x64xbf16>, %i: index, %a: f32) {
  // expected-error @+1 {{expects numbers of type 'bf16' but got 'f32'}}
  simt.store_numbers %a, %a to %x[%i, %i] : f32, f32 to memref<8x64xbf16>
  return
}

// -----

func.func @store_numbers_c1_whole(%x: memref<8x64xi4>, %i: index, %a: i4) {
  // expected-error @+1 {{expects numbers of whole bytes but got 'i4'}}
  simt.store_numbers %a, %a, %a, %a to %x[%i, %i] : i4, i4, i4, i4 to memref<8x64xi4>
  return
}

// -----

func.func @store_numbers_c1_bytes(%x: memref<8x64xf32>, %i: index, %a: f32) {
  // expected-error @+1 {{expects 2, 4, 8 or 16 bytes of numbers but got 12}}
  simt.store_numbers %a, %a, %a to %x[%i, %i] : f32, f32, f32 to memref<8x64xf32>
  return
}

// -----

func.func @store_numbers_c2(%x: memref<8x66xf32>, %i: index, %a: f32) {
  // expected-error @+1 {{expects rows of 'memory' to begin at multiples of 16 bytes}}
  simt.store_numbers %a, %a, %a, %a to %x[%i, %i] : f32, f32, f32, f32 to memref<8x66xf32>
  return
}

// -----

func.func @attention_c1_heads(%x: memref<99x96xbf16>, %starts: memref<99xi32>, %i: index) {
  // expected-error @+1 {{expects heads of 64 or 128 features but got 48}}
  simt.attention %i part %i [%i, %i] %x, %x, %x, %starts to %x {heads = 2, kv_heads = 2, scale = 0.1 : f64} : memref<99x96xbf16>, memref<99x96xbf16>, memref<99x96xbf16>, memref<99xi32>, memref<99x96xbf16>
  return
}

// -----

func.func @attention_c1_elements(%x: memref<99x64xbf16>, %f: memref<99x64xf32>, %starts: memref<99xi32>, %i: index) {
  // expected-error @+1 {{expects elements of bfloat16 but got 'memref<99x64xf32>'}}
  simt.attention %i part %i [%i, %i] %x, %f, %x, %starts to %x {heads = 1, kv_heads = 1, scale = 0.1 : f64} : memref<99x64xbf16>, memref<99x64xf32>, memref<99x64xbf16>, memref<99xi32>, memref<99x64xbf16>
  return
}

// -----

func.func @attention_c2(%x: memref<99x64xbf16>, %starts: memref<99xi32>, %i: index) {
  %eight = arith.constant 8 : index
  // expected-error @+1 {{expects the first row to be a multiple of 16 but got 8}}
  simt.attention %i part %i [%eight, %i] %x, %x, %x, %starts to %x {heads = 1, kv_heads = 1, scale = 0.1 : f64} : memref<99x64xbf16>, memref<99x64xbf16>, memref<99x64xbf16>, memref<99xi32>, memref<99x64xbf16>
  return
}

// -----

func.func @attention_c3(%x: memref<99x64xbf16>, %starts: memref<99xi32>, %i: index) {
  // expected-error @+1 {{expects a positive scale but got}}
  simt.attention %i part %i [%i, %i] %x, %x, %x, %starts to %x {heads = 1, kv_heads = 1, scale = 0.0 : f64} : memref<99x64xbf16>, memref<99x64xbf16>, memref<99x64xbf16>, memref<99xi32>, memref<99x64xbf16>
  return
}

// -----

func.func @attention_key_adjoint_c4(%x: memref<99x64xbf16>, %n: memref<1x99xf32>, %ends: memref<99xi32>, %i: index) {
  // expected-error @+1 {{expects 16, 32 or 64 rows but got 48}}
  simt.attention_key_adjoint %i part %i [%i, %i] %x, %x, %x, %x, %n, %n, %n, %ends to %x, %x {heads = 1, kv_heads = 1, rows = 48, scale = 0.1 : f64} : index, index, index, index, memref<99x64xbf16>, memref<99x64xbf16>, memref<99x64xbf16>, memref<99x64xbf16>, memref<1x99xf32>, memref<1x99xf32>, memref<1x99xf32>, memref<99xi32>, memref<99x64xbf16>, memref<99x64xbf16>
  return
}

// -----

func.func @attention_key_adjoint_c4_groups(%x: memref<99x64xbf16>, %n: memref<1x99xf32>, %ends: memref<99xi32>, %i: index) {
  // expected-error @+1 {{expects 64 rows of groups but got 32}}
  simt.attention_key_adjoint %i part %i [%i, %i] %x, %x, %x, %x, %n, %n, %n, %ends to %x, %x {heads = 1, kv_heads = 1, rows = 32, scale = 0.1 : f64, by_groups} : index, index, index, index, memref<99x64xbf16>, memref<99x64xbf16>, memref<99x64xbf16>, memref<99x64xbf16>, memref<1x99xf32>, memref<1x99xf32>, memref<1x99xf32>, memref<99xi32>, memref<99x64xbf16>, memref<99x64xbf16>
  return
}
