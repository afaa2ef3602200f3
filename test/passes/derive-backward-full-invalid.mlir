// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-derive-backward="residuals=full"

// Modules that the policy `full` refuses.

// The adjoint of attention reads its result, which the block returns already.
module @result_is_kept_twice {
  // expected-error @+1 {{'hone.block' op returns a value that its own adjoint reads; 'full' cannot keep it twice}}
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %wq = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %aq = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bq = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %q = hone.lora_linear %x, %wq, %aq, %bq scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %y = hone.attention %q, %q, %q, %s heads 2 kv_heads 2 scale 0.5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0 = hone.call @layer "layers.0." (%hidden) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
}
