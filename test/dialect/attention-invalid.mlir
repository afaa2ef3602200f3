// RUN: hone-opt %s --split-input-file --verify-diagnostics

// hone.attention: each constraint is violated once, in a case of its name.

hone.block @attention_c1(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                         %v: tensor<?x8xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention' op expects 'k' and 'v' to have one type, but got 'tensor<?x4xf32>' and 'tensor<?x8xf32>'}}
  %0 = hone.attention %q, %k, %v, %s heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x8xf32>, tensor<?xi32>)
      -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_c1_head_size(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>,
                                   %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention' op expects 'q' and 'k' to have heads of one size, but 2 heads share 8 features and 1 heads share 8}}
  %0 = hone.attention %q, %k, %k, %s heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>)
      -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_c2(%q: tensor<?x12xf32>, %k: tensor<?x8xf32>,
                         %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention' op expects 'kv_heads' to divide 'heads', but got 2 and 3}}
  %0 = hone.attention %q, %k, %k, %s heads 3 kv_heads 2 scale 0.5
      : (tensor<?x12xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>)
      -> tensor<?x12xf32>
  hone.return
}

// -----

hone.block @attention_c3(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                         %s: tensor<3xi32>) {
  // expected-error @+1 {{'hone.attention' op expects dimension 0 of 'starts' to be dimension 0 of 'q', but got 3 and ?}}
  %0 = hone.attention %q, %k, %k, %s heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<3xi32>)
      -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_c4(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                         %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention' op expects dimension 1 of 'normalizer' to be 4, but got 1}}
  %y, %normalizer = hone.attention %q, %k, %k, %s heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>)
      -> (tensor<?x8xf32>, tensor<?x1xf32>)
  hone.return
}

// -----

hone.block @attention_c5(%q: tensor<?x8xf32>, %k: tensor<?x4xf64>,
                         %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention' op expects 'k' and 'q' to have one element type, but got 'tensor<?x4xf64>' and 'tensor<?x8xf32>'}}
  %0 = hone.attention %q, %k, %k, %s heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf64>, tensor<?x4xf64>, tensor<?xi32>)
      -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_c6(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                         %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention' op expects 'window' to be positive but got 0}}
  %0 = hone.attention %q, %k, %k, %s heads 2 kv_heads 1 window 0 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>)
      -> tensor<?x8xf32>
  hone.return
}
