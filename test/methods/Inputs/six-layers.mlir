// Six layers of one adapter each: enough to test parts, and quick to compile.
module {
  hone.block @embed() -> tensor<?x16xf64> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed_tokens.weight" : tensor<97x16xf64>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<97x16xf64>) -> tensor<?x16xf64>
    hone.return %x : tensor<?x16xf64>
  }
  hone.block @layer(%x: tensor<?x16xf64>) -> tensor<?x16xf64> {
    %n = hone.parameter "norm.weight" : tensor<16xf64>
    %y = hone.rms_norm %x, %n eps 1.0e-5 : (tensor<?x16xf64>, tensor<16xf64>) -> tensor<?x16xf64>
    %w = hone.parameter "mix.weight" : tensor<16x16xf64>
    %a = hone.parameter "mix.lora_A.weight" trainable init <kaiming_uniform> : tensor<4x16xf64>
    %b = hone.parameter "mix.lora_B.weight" trainable init <zero> : tensor<16x4xf64>
    %m = hone.lora_linear %y, %w, %a, %b scale 2.0 : (tensor<?x16xf64>, tensor<16x16xf64>, tensor<4x16xf64>, tensor<16x4xf64>) -> tensor<?x16xf64>
    %starts = hone.input "sequence_starts" : tensor<?xi32>
    %r = hone.rope %m, %starts heads 2 theta 1.0e4 : (tensor<?x16xf64>, tensor<?xi32>) -> tensor<?x16xf64>
    %z = hone.add %x, %r : tensor<?x16xf64>
    hone.return %z : tensor<?x16xf64>
  }
  hone.block @head(%x: tensor<?x16xf64>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<97x16xf64>
    %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x16xf64>, tensor<97x16xf64>, tensor<?xi32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @embed "model." () : () -> tensor<?x16xf64>
    %1 = hone.call @layer "model.layers.0." (%0) : (tensor<?x16xf64>) -> tensor<?x16xf64>
    %2 = hone.call @layer "model.layers.1." (%1) : (tensor<?x16xf64>) -> tensor<?x16xf64>
    %3 = hone.call @layer "model.layers.2." (%2) : (tensor<?x16xf64>) -> tensor<?x16xf64>
    %4 = hone.call @layer "model.layers.3." (%3) : (tensor<?x16xf64>) -> tensor<?x16xf64>
    %5 = hone.call @layer "model.layers.4." (%4) : (tensor<?x16xf64>) -> tensor<?x16xf64>
    %6 = hone.call @layer "model.layers.5." (%5) : (tensor<?x16xf64>) -> tensor<?x16xf64>
    %loss = hone.call @head "" (%6) : (tensor<?x16xf64>) -> tensor<f64>
    hone.return %loss : tensor<f64>
  }
}
