// RUN: hone-opt %s --split-input-file --verify-diagnostics

hone.block @cache_c1() {
  // expected-error @below {{expects a static shape}}
  %0 = hone.cache "keys" : tensor<?x8xf32>
  hone.return
}

// -----

hone.block @cached_attention_c1_y(%q: tensor<?x8xf32>, %s: tensor<?xi32>) {
  %k = hone.cache "keys" : tensor<32x8xf32>
  %v = hone.cache "values" : tensor<32x8xf32>
  // expected-error @below {{'q'}}
  %0 = hone.cached_attention %q, %q, %q, %s, %k, %v heads 2 kv_heads 2 scale 0.5 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>, tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @cached_attention_c2(%q: tensor<?x12xf32>, %n: tensor<?x8xf32>, %s: tensor<?xi32>) {
  %k = hone.cache "keys" : tensor<32x8xf32>
  %v = hone.cache "values" : tensor<32x8xf32>
  // expected-error @below {{kv_heads}}
  %0 = hone.cached_attention %q, %n, %n, %s, %k, %v heads 3 kv_heads 2 scale 0.5 : (tensor<?x12xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>, tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<?x12xf32>
  hone.return
}

// -----

hone.block @cached_attention_c3(%q: tensor<4x8xf32>, %s: tensor<3xi32>) {
  %k = hone.cache "keys" : tensor<32x8xf32>
  %v = hone.cache "values" : tensor<32x8xf32>
  // expected-error @below {{'starts'}}
  %0 = hone.cached_attention %q, %q, %q, %s, %k, %v heads 2 kv_heads 2 scale 0.5 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<3xi32>, tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
  hone.return
}

// -----

hone.block @cached_attention_c4_one(%q: tensor<?x8xf32>, %s: tensor<?xi32>) {
  %k = hone.cache "keys" : tensor<32x8xf32>
  // expected-error @below {{expects 'keys' and 'values' to be two results of 'hone.cache'}}
  %0 = hone.cached_attention %q, %q, %q, %s, %k, %k heads 2 kv_heads 2 scale 0.5 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>, tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @cached_attention_c4_argument(%q: tensor<?x8xf32>, %s: tensor<?xi32>, %k: tensor<32x8xf32>) {
  %v = hone.cache "values" : tensor<32x8xf32>
  // expected-error @below {{expects 'keys' and 'values' to be two results of 'hone.cache'}}
  %0 = hone.cached_attention %q, %q, %q, %s, %k, %v heads 2 kv_heads 2 scale 0.5 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>, tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @cached_attention_c4_columns(%q: tensor<?x8xf32>, %s: tensor<?xi32>) {
  %k = hone.cache "keys" : tensor<32x4xf32>
  %v = hone.cache "values" : tensor<32x4xf32>
  // expected-error @below {{'keys'}}
  %0 = hone.cached_attention %q, %q, %q, %s, %k, %v heads 2 kv_heads 2 scale 0.5 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>, tensor<32x4xf32>, tensor<32x4xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @cached_attention_c5(%q: tensor<?x8xbf16>, %s: tensor<?xi32>) {
  %k = hone.cache "keys" : tensor<32x8xf32>
  %v = hone.cache "values" : tensor<32x8xf32>
  // expected-error @below {{'keys'}}
  %0 = hone.cached_attention %q, %q, %q, %s, %k, %v heads 2 kv_heads 2 scale 0.5 : (tensor<?x8xbf16>, tensor<?x8xbf16>, tensor<?x8xbf16>, tensor<?xi32>, tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<?x8xbf16>
  hone.return
}

// -----

hone.block @cached_attention_c6(%q: tensor<?x8xf32>, %s: tensor<?xi32>) {
  %k = hone.cache "keys" : tensor<32x8xf32>
  %v = hone.cache "values" : tensor<32x8xf32>
  // expected-error @below {{expects 'window' to be positive but got 0}}
  %0 = hone.cached_attention %q, %q, %q, %s, %k, %v heads 2 kv_heads 2 window 0 scale 0.5 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>, tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @logits_c1_hidden(%x: tensor<?x4xf32>, %w: tensor<9x8xf32>) {
  // expected-error @below {{'weight'}}
  %0 = hone.logits %x, %w : (tensor<?x4xf32>, tensor<9x8xf32>) -> tensor<9xf32>
  hone.return
}

// -----

hone.block @logits_c1_vocabulary(%x: tensor<?x4xf32>, %w: tensor<9x4xf32>) {
  // expected-error @below {{'weight'}}
  %0 = hone.logits %x, %w : (tensor<?x4xf32>, tensor<9x4xf32>) -> tensor<8xf32>
  hone.return
}

// -----

hone.block @logits_c2(%x: tensor<?x4xbf16>, %w: tensor<9x4xf32>) {
  // expected-error @below {{'y'}}
  %0 = hone.logits %x, %w : (tensor<?x4xbf16>, tensor<9x4xf32>) -> tensor<9xf64>
  hone.return
}

// -----

hone.block @logits_c3(%x: tensor<?x4xf32>, %w: tensor<?x4xf32>) {
  // expected-error @below {{'weight'}}
  %0 = hone.logits %x, %w : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?xf32>
  hone.return
}
