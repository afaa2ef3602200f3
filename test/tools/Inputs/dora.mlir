// One linear module with a magnitude beside its direction.
hone.block @all() -> tensor<f64> {
  %ids = hone.input "input_ids" : tensor<?xi32>
  %table = hone.parameter "embed.weight" : tensor<61x32xf32>
  %x = hone.embedding %ids, %table : (tensor<?xi32>, tensor<61x32xf32>) -> tensor<?x32xf32>
  %w = hone.parameter "q.weight" : tensor<32x32xf32>
  %a = hone.parameter "q.lora_A.weight" trainable init <kaiming_uniform> : tensor<4x32xf32>
  %b = hone.parameter "q.lora_B.weight" trainable init <zero> : tensor<32x4xf32>
  %m = hone.parameter "q.lora_magnitude_vector" trainable init <row_lengths> : tensor<32xf32>
  %n = hone.row_lengths %w, %a, %b scale 2.0 : (tensor<32x32xf32>, tensor<4x32xf32>, tensor<32x4xf32>) -> tensor<32xf32>
  %q = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x32xf32>, tensor<32x32xf32>, tensor<4x32xf32>, tensor<32x4xf32>) -> tensor<?x32xf32>
  %y = hone.rescale %q, %m, %n : (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<?x32xf32>
  %targets = hone.input "targets" : tensor<?xi32>
  %head = hone.parameter "head.weight" : tensor<61x32xf32>
  %loss = hone.linear_cross_entropy %y, %head, %targets : (tensor<?x32xf32>, tensor<61x32xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return %loss : tensor<f64>
}
hone.entry @loss() -> tensor<f64> {
  %0 = hone.call @all "" () : () -> tensor<f64>
  hone.return %0 : tensor<f64>
}
