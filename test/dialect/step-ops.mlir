// RUN: hone-opt %s | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --emit-bytecode | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s --enable-var-scope

// The ops of a training step: adjoints, the sink, updates, regions.

// CHECK-LABEL: hone.block @scale(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[F:.*]]: tensor<f64>)
hone.block @scale(%x: tensor<?x4xf32>, %factor: tensor<f64>) {
  // CHECK: hone.scale %[[X]], %[[F]] : (tensor<?x4xf32>, tensor<f64>) -> tensor<?x4xf32>
  %0 = hone.scale %x, %factor
      : (tensor<?x4xf32>, tensor<f64>) -> tensor<?x4xf32>
  hone.return
}

// CHECK-LABEL: hone.block @rms_norm_adjoint(
// CHECK-SAME: %[[DY:[^:]*]]: tensor<?x4xf32>, %[[X:[^:]*]]: tensor<?x4xf32>, %[[W:[^:]*]]: tensor<4xf32>, %[[R:[^:]*]]: tensor<?x1xf32>)
hone.block @rms_norm_adjoint(%dy: tensor<?x4xf32>, %x: tensor<?x4xf32>,
                             %w: tensor<4xf32>, %rstd: tensor<?x1xf32>) {
  // CHECK: hone.rms_norm_adjoint %[[DY]], %[[X]], %[[W]] eps 1.000000e-05 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %0 = hone.rms_norm_adjoint %dy, %x, %w eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: hone.rms_norm_adjoint %[[DY]], %[[X]], %[[W]] rstd %[[R]] eps 1.000000e-05
  %1 = hone.rms_norm_adjoint %dy, %x, %w rstd %rstd eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<?x1xf32>)
      -> tensor<?x4xf32>
  hone.return
}

// CHECK-LABEL: hone.block @linear_adjoint(
// CHECK-SAME: %[[DY:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<8x4xf32>)
hone.block @linear_adjoint(%dy: tensor<?x8xf32>, %w: tensor<8x4xf32>) {
  // CHECK: hone.linear_adjoint %[[DY]], %[[W]] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  %0 = hone.linear_adjoint %dy, %w
      : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  hone.return
}

// CHECK-LABEL: hone.block @lora_inner_adjoint(
// CHECK-SAME: %[[DY:[^:]*]]: tensor<?x8xbf16>, %[[B:[^:]*]]: tensor<8x2xf32>)
hone.block @lora_inner_adjoint(%dy: tensor<?x8xbf16>, %b: tensor<8x2xf32>) {
  // CHECK: hone.lora_inner_adjoint %[[DY]], %[[B]] scale 2.000000e+00 : (tensor<?x8xbf16>, tensor<8x2xf32>) -> tensor<?x2xf32>
  %0 = hone.lora_inner_adjoint %dy, %b scale 2.0
      : (tensor<?x8xbf16>, tensor<8x2xf32>) -> tensor<?x2xf32>
  hone.return
}

// CHECK-LABEL: hone.block @lora_linear_adjoint(
// CHECK-SAME: %[[DY:[^:]*]]: tensor<?x8xf32>, %[[W:[^:]*]]: tensor<8x4xf32>, %[[A:[^:]*]]: tensor<2x4xf32>, %[[B:[^:]*]]: tensor<8x2xf32>, %[[U:[^:]*]]: tensor<?x2xf32>)
hone.block @lora_linear_adjoint(%dy: tensor<?x8xf32>, %w: tensor<8x4xf32>,
                                %a: tensor<2x4xf32>, %b: tensor<8x2xf32>,
                                %u: tensor<?x2xf32>) {
  // CHECK: hone.lora_linear_adjoint %[[DY]], %[[W]], %[[A]], %[[B]] scale 2.000000e+00 : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<?x4xf32>
  %0 = hone.lora_linear_adjoint %dy, %w, %a, %b scale 2.0
      : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>)
      -> tensor<?x4xf32>
  // CHECK: hone.lora_linear_adjoint %[[DY]], %[[W]], %[[A]], %[[B]] u %[[U]] scale 2.000000e+00
  %1 = hone.lora_linear_adjoint %dy, %w, %a, %b u %u scale 2.0
      : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>,
         tensor<?x2xf32>) -> tensor<?x4xf32>
  hone.return
}

// CHECK-LABEL: hone.block @lora_parameter_adjoint(
// CHECK-SAME: %[[DY:[^:]*]]: tensor<?x8xf32>, %[[X:[^:]*]]: tensor<?x4xf32>, %[[A:[^:]*]]: tensor<2x4xf32>, %[[B:[^:]*]]: tensor<8x2xf32>, %[[H:[^:]*]]: tensor<?x2xf32>)
hone.block @lora_parameter_adjoint(%dy: tensor<?x8xf32>, %x: tensor<?x4xf32>,
                                   %a: tensor<2x4xf32>, %b: tensor<8x2xf32>,
                                   %h: tensor<?x2xf32>) {
  // CHECK: hone.lora_parameter_adjoint %[[DY]], %[[X]], %[[A]], %[[B]] scale 2.000000e+00 : {{.*}} -> (tensor<2x4xf32>, tensor<8x2xf32>)
  %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>)
      -> (tensor<2x4xf32>, tensor<8x2xf32>)
  // CHECK: hone.lora_parameter_adjoint %[[DY]], %[[X]], %[[A]], %[[B]] h %[[H]] scale 2.000000e+00
  %da2, %db2 = hone.lora_parameter_adjoint %dy, %x, %a, %b h %h scale 2.0
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>,
         tensor<?x2xf32>) -> (tensor<2x4xf32>, tensor<8x2xf32>)
  // CHECK: hone.lora_parameter_adjoint %[[DY]], %[[X]], %[[A]], %[[B]] h %[[H]] u %[[H]] scale 2.000000e+00
  %da3, %db3 = hone.lora_parameter_adjoint %dy, %x, %a, %b h %h u %h scale 2.0
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>,
         tensor<?x2xf32>, tensor<?x2xf32>)
      -> (tensor<2x4xf32>, tensor<8x2xf32>)
  hone.return
}

// CHECK-LABEL: hone.block @attention_adjoint(
// CHECK-SAME: %[[DY:[^:]*]]: tensor<?x8xf32>, %[[Q:[^:]*]]: tensor<?x8xf32>, %[[K:[^:]*]]: tensor<?x4xf32>, %[[V:[^:]*]]: tensor<?x4xf32>, %[[Y:[^:]*]]: tensor<?x8xf32>, %[[L:[^:]*]]: tensor<?x4xf32>, %[[S:[^:]*]]: tensor<?xi32>)
hone.block @attention_adjoint(%dy: tensor<?x8xf32>, %q: tensor<?x8xf32>,
                              %k: tensor<?x4xf32>, %v: tensor<?x4xf32>,
                              %y: tensor<?x8xf32>, %normalizer: tensor<?x4xf32>,
                              %s: tensor<?xi32>) {
  // CHECK: hone.attention_adjoint %[[DY]], %[[Q]], %[[K]], %[[V]], %[[Y]], %[[L]], %[[S]] heads 2 kv_heads 1 scale 5.000000e-01
  // CHECK-SAME: -> (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
  %dq, %dk, %dv = hone.attention_adjoint %dy, %q, %k, %v, %y, %normalizer, %s
      heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
         tensor<?x8xf32>, tensor<?x4xf32>, tensor<?xi32>)
      -> (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
  hone.return
}

// CHECK-LABEL: hone.block @gated_activation_adjoint(
// CHECK-SAME: %[[DY:[^:]*]]: tensor<?x8xf32>, %[[G:[^:]*]]: tensor<?x8xf32>, %[[U:[^:]*]]: tensor<?x8xf32>)
hone.block @gated_activation_adjoint(%dy: tensor<?x8xf32>, %gate: tensor<?x8xf32>,
                           %up: tensor<?x8xf32>) {
  // CHECK: %{{.*}}, %{{.*}} = hone.gated_activation_adjoint silu %[[DY]], %[[G]], %[[U]] : tensor<?x8xf32>
  %dgate, %dup = hone.gated_activation_adjoint silu %dy, %gate, %up : tensor<?x8xf32>
  hone.return
}

// CHECK-LABEL: hone.block @gradient(
// CHECK-SAME: %[[D:.*]]: tensor<2x4xf32>)
hone.block @gradient(%d: tensor<2x4xf32>) {
  // CHECK: hone.gradient %[[D]] of "q_proj.lora_A.weight" : tensor<2x4xf32>
  hone.gradient %d of "q_proj.lora_A.weight" : tensor<2x4xf32>
  hone.return
}

// CHECK-LABEL: hone.entry @sgd(
// CHECK-SAME: %[[G:[^:]*]]: tensor<f64>, %[[L:[^:]*]]: tensor<f64>, %[[W:[^:]*]]: tensor<f64>, %[[M:[^:]*]]: tensor<f64>, %[[K:[^:]*]]: tensor<4xi32>)
hone.entry @sgd(%g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>,
                %m: tensor<f64>, %k: tensor<4xi32>) {
  // CHECK: hone.sgd %[[G]], %[[L]], %[[W]]{{$}}
  hone.sgd %g, %l, %w
  // CHECK: hone.sgd %[[G]], %[[L]], %[[W]] momentum %[[M]]
  hone.sgd %g, %l, %w momentum %m
  // CHECK: %[[D:.*]] = hone.layer_gradient "layers.0." : tensor<16xf32>
  %d = hone.layer_gradient "layers.0." : tensor<16xf32>
  // CHECK: hone.sgd %[[G]], %[[L]], %[[W]] from %[[D]] : tensor<16xf32>
  hone.sgd %g, %l, %w from %d : tensor<16xf32>
  // CHECK: hone.sgd %[[G]], %[[L]], %[[W]] momentum %[[M]] from %[[D]] : tensor<16xf32>
  hone.sgd %g, %l, %w momentum %m from %d : tensor<16xf32>
  // CHECK: hone.sgd %[[G]], %[[L]], %[[W]] round %[[K]]{{$}}
  hone.sgd %g, %l, %w round %k
  // CHECK: hone.sgd %[[G]], %[[L]], %[[W]] momentum %[[M]] in_bfloat16 round %[[K]]{{$}}
  hone.sgd %g, %l, %w momentum %m in_bfloat16 round %k
  // CHECK: hone.lion %[[G]], %[[L]], %[[W]], %[[M]], %[[M]] in_bfloat16 round %[[K]]{{$}}
  hone.lion %g, %l, %w, %m, %m in_bfloat16 round %k
  // CHECK: hone.adafactor %[[G]], %[[L]], %[[W]], %[[M]], %[[M]], %[[M]] from %[[D]] : tensor<16xf32>
  hone.adafactor %g, %l, %w, %m, %m, %m from %d : tensor<16xf32>
  // CHECK: hone.sinkgd %[[G]], %[[L]], %[[W]] round %[[K]]{{$}}
  hone.sinkgd %g, %l, %w round %k
}

// CHECK-LABEL: hone.entry @adamw(
// CHECK-SAME: %[[G:[^:]*]]: tensor<f64>, %[[L:[^:]*]]: tensor<f64>, %[[W:[^:]*]]: tensor<f64>, %[[B1:[^:]*]]: tensor<f64>, %[[B2:[^:]*]]: tensor<f64>, %[[E:[^:]*]]: tensor<f64>, %[[C1:[^:]*]]: tensor<f64>, %[[C2:[^:]*]]: tensor<f64>)
hone.entry @adamw(%g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>,
                  %b1: tensor<f64>, %b2: tensor<f64>, %e: tensor<f64>,
                  %c1: tensor<f64>, %c2: tensor<f64>) {
  // CHECK: hone.adamw %[[G]], %[[L]], %[[W]], %[[B1]], %[[B2]], %[[E]], %[[C1]], %[[C2]]{{$}}
  hone.adamw %g, %l, %w, %b1, %b2, %e, %c1, %c2
  // CHECK: %[[D:.*]] = hone.layer_gradient "layers.0." : tensor<16xf32>
  %d = hone.layer_gradient "layers.0." : tensor<16xf32>
  // CHECK: hone.adamw %[[G]], %[[L]], %[[W]], %[[B1]], %[[B2]], %[[E]], %[[C1]], %[[C2]] from %[[D]] : tensor<16xf32>
  hone.adamw %g, %l, %w, %b1, %b2, %e, %c1, %c2 from %d : tensor<16xf32>
}

// CHECK: hone.region "theta" adapter at 0 bytes 100
hone.region "theta" adapter at 0 bytes 100
// CHECK: hone.region "gradient" gradient at 128 bytes 100
hone.region "gradient" gradient at 128 bytes 100
// CHECK: hone.region "state0" optimizer at 256 bytes 100
hone.region "state0" optimizer at 256 bytes 100
// CHECK: hone.region "input.input_ids" batch at 384 bytes 0
hone.region "input.input_ids" batch at 384 bytes 0
// CHECK: hone.region "kept" kept at 448 bytes 64
hone.region "kept" kept at 448 bytes 64
// CHECK: hone.region "working" working at 512 bytes 64
hone.region "working" working at 512 bytes 64

// CHECK-LABEL: hone.block @row_tiles(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>)
hone.block @row_tiles(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK: %[[Y:.*]] = hone.row_tiles 32(%[[X]]) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK-NEXT: ^{{.*}}(%[[ROWS:.*]]: tensor<?x4xf32>):
  // CHECK-NEXT: %[[SUM:.*]] = hone.add %[[ROWS]], %[[ROWS]]
  // CHECK-NEXT: hone.return %[[SUM]]
  %y = hone.row_tiles 32 (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^tile(%rows: tensor<?x4xf32>):
    %0 = hone.add %rows, %rows : tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.return %y : tensor<?x4xf32>
}

// CHECK-LABEL: hone.block @convert(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>)
hone.block @convert(%x: tensor<?x4xf32>) {
  // CHECK: hone.convert %[[X]] : tensor<?x4xf32> to tensor<?x4xbf16>
  %0 = hone.convert %x : tensor<?x4xf32> to tensor<?x4xbf16>
  hone.return
}

//===----------------------------------------------------------------------===//
// Some of the layers
//===----------------------------------------------------------------------===//

hone.block @some(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = hone.convert %x : tensor<?x4xf32> to tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}
hone.block @others(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = hone.add %x, %x : tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}
hone.block @sinks(%x: tensor<?x4xf32>) {
  hone.return
}
// CHECK-LABEL: hone.entry gradient @selected(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[M:[^:]*]]: tensor<2xi32>, %[[S:[^:]*]]: tensor<3xi32>)
hone.entry gradient @selected(%x: tensor<?x4xf32>, %m: tensor<2xi32>, %s: tensor<3xi32>) {
  // CHECK: %[[Y:.*]] = hone.call @others "layers.0."(%[[X]]) when %[[M]][1] : tensor<2xi32> else @some : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %y = hone.call @others "layers.0."(%x) when %m[1] : tensor<2xi32> else @some : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: %[[P:.*]] = hone.pool : tensor<4x?x4xf32>
  %p = hone.pool : tensor<4x?x4xf32>
  // CHECK: hone.keep %[[Y]] in %[[P]] at %[[S]][0] : tensor<4x?x4xf32>, tensor<3xi32>{{$}}
  hone.keep %y in %p at %s[0] : tensor<4x?x4xf32>, tensor<3xi32>
  // CHECK: hone.keep %[[Y]] in %[[P]] at %[[S]][2] when %[[M]][0] : tensor<4x?x4xf32>, tensor<3xi32>, tensor<2xi32>
  hone.keep %y in %p at %s[2] when %m[0] : tensor<4x?x4xf32>, tensor<3xi32>, tensor<2xi32>
  // CHECK: %[[K:.*]] = hone.kept %[[P]] at %[[S]][2] : tensor<4x?x4xf32>, tensor<3xi32>
  %k = hone.kept %p at %s[2] : tensor<4x?x4xf32>, tensor<3xi32>
  // CHECK: hone.call @sinks "layers.1."(%[[K]]) when %[[M]][0] : tensor<2xi32> : (tensor<?x4xf32>) -> ()
  hone.call @sinks "layers.1."(%k) when %m[0] : tensor<2xi32> : (tensor<?x4xf32>) -> ()
}
