// A block that no importer makes: attention and MLP read one shared norm, and
// both are added to the input, as in GPT-J and GPT-NeoX:
//
//   y = x + attention(norm(x)) + mlp(norm(x))
//
// The compiler derives its backward from the ops alone.

module {
  hone.block @embed() -> tensor<?x32xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %table = hone.parameter "embed.weight" : tensor<61x32xf32>
    %x = hone.embedding %ids, %table : (tensor<?xi32>, tensor<61x32xf32>) -> tensor<?x32xf32>
    hone.return %x : tensor<?x32xf32>
  }

  hone.block @parallel(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
    %starts = hone.input "sequence_starts" : tensor<?xi32>
    %norm_w = hone.parameter "norm.weight" : tensor<32xf32>
    %n = hone.rms_norm %x, %norm_w eps 1.0e-5 : (tensor<?x32xf32>, tensor<32xf32>) -> tensor<?x32xf32>

    %q_w = hone.parameter "q.weight" : tensor<32x32xf32>
    %q_a = hone.parameter "q.lora_A.weight" trainable init <kaiming_uniform> : tensor<4x32xf32>
    %q_b = hone.parameter "q.lora_B.weight" trainable init <zero> : tensor<32x4xf32>
    %query = hone.lora_linear %n, %q_w, %q_a, %q_b scale 2.0 : (tensor<?x32xf32>, tensor<32x32xf32>, tensor<4x32xf32>, tensor<32x4xf32>) -> tensor<?x32xf32>
    %k_w = hone.parameter "k.weight" : tensor<16x32xf32>
    %k_a = hone.parameter "k.lora_A.weight" trainable init <kaiming_uniform> : tensor<4x32xf32>
    %k_b = hone.parameter "k.lora_B.weight" trainable init <zero> : tensor<16x4xf32>
    %key = hone.lora_linear %n, %k_w, %k_a, %k_b scale 2.0 : (tensor<?x32xf32>, tensor<16x32xf32>, tensor<4x32xf32>, tensor<16x4xf32>) -> tensor<?x16xf32>
    %v_w = hone.parameter "v.weight" : tensor<16x32xf32>
    %v_a = hone.parameter "v.lora_A.weight" trainable init <kaiming_uniform> : tensor<4x32xf32>
    %v_b = hone.parameter "v.lora_B.weight" trainable init <zero> : tensor<16x4xf32>
    %value = hone.lora_linear %n, %v_w, %v_a, %v_b scale 2.0 : (tensor<?x32xf32>, tensor<16x32xf32>, tensor<4x32xf32>, tensor<16x4xf32>) -> tensor<?x16xf32>
    %rq = hone.rope %query, %starts heads 4 theta 1.0e4 : (tensor<?x32xf32>, tensor<?xi32>) -> tensor<?x32xf32>
    %rk = hone.rope %key, %starts heads 2 theta 1.0e4 : (tensor<?x16xf32>, tensor<?xi32>) -> tensor<?x16xf32>
    %mixed = hone.attention %rq, %rk, %value, %starts heads 4 kv_heads 2 scale 0.35355339059327379 : (tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?xi32>) -> tensor<?x32xf32>
    %o_w = hone.parameter "o.weight" : tensor<32x32xf32>
    %o_a = hone.parameter "o.lora_A.weight" trainable init <kaiming_uniform> : tensor<4x32xf32>
    %o_b = hone.parameter "o.lora_B.weight" trainable init <zero> : tensor<32x4xf32>
    %attended = hone.lora_linear %mixed, %o_w, %o_a, %o_b scale 2.0 : (tensor<?x32xf32>, tensor<32x32xf32>, tensor<4x32xf32>, tensor<32x4xf32>) -> tensor<?x32xf32>

    %gate_w = hone.parameter "gate.weight" : tensor<56x32xf32>
    %gate_a = hone.parameter "gate.lora_A.weight" trainable init <kaiming_uniform> : tensor<4x32xf32>
    %gate_b = hone.parameter "gate.lora_B.weight" trainable init <zero> : tensor<56x4xf32>
    %gated = hone.lora_linear %n, %gate_w, %gate_a, %gate_b scale 2.0 : (tensor<?x32xf32>, tensor<56x32xf32>, tensor<4x32xf32>, tensor<56x4xf32>) -> tensor<?x56xf32>
    %up_w = hone.parameter "up.weight" : tensor<56x32xf32>
    %up_a = hone.parameter "up.lora_A.weight" trainable init <kaiming_uniform> : tensor<4x32xf32>
    %up_b = hone.parameter "up.lora_B.weight" trainable init <zero> : tensor<56x4xf32>
    %raised = hone.lora_linear %n, %up_w, %up_a, %up_b scale 2.0 : (tensor<?x32xf32>, tensor<56x32xf32>, tensor<4x32xf32>, tensor<56x4xf32>) -> tensor<?x56xf32>
    %act = hone.gated_activation silu %gated, %raised : tensor<?x56xf32>
    %down_w = hone.parameter "down.weight" : tensor<32x56xf32>
    %down_a = hone.parameter "down.lora_A.weight" trainable init <kaiming_uniform> : tensor<4x56xf32>
    %down_b = hone.parameter "down.lora_B.weight" trainable init <zero> : tensor<32x4xf32>
    %mlp = hone.lora_linear %act, %down_w, %down_a, %down_b scale 2.0 : (tensor<?x56xf32>, tensor<32x56xf32>, tensor<4x56xf32>, tensor<32x4xf32>) -> tensor<?x32xf32>

    %sum = hone.add %attended, %mlp : tensor<?x32xf32>
    %y = hone.add %x, %sum : tensor<?x32xf32>
    hone.return %y : tensor<?x32xf32>
  }

  hone.block @head(%x: tensor<?x32xf32>) -> tensor<f64> {
    %targets = hone.input "targets" : tensor<?xi32>
    %norm_w = hone.parameter "norm.weight" : tensor<32xf32>
    %n = hone.rms_norm %x, %norm_w eps 1.0e-5 : (tensor<?x32xf32>, tensor<32xf32>) -> tensor<?x32xf32>
    %w = hone.parameter "head.weight" : tensor<61x32xf32>
    %loss = hone.linear_cross_entropy %n, %w, %targets : (tensor<?x32xf32>, tensor<61x32xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %loss : tensor<f64>
  }

  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @embed "" () : () -> tensor<?x32xf32>
    %1 = hone.call @parallel "layers.0." (%0) : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %2 = hone.call @parallel "layers.1." (%1) : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %3 = hone.call @head "" (%2) : (tensor<?x32xf32>) -> tensor<f64>
    hone.return %3 : tensor<f64>
  }
}
