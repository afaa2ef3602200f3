//===- Optimizer.td - Steps of optimizers ---------------------------------===//
//
// An op for each update rule: its numbers, its formula, and its memory from
// step to step (UpdateOpInterface).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_OPTIMIZER_TD
#define HONE_OPTIMIZER_TD

include "dialects/Hone/ops/OpBase.td"

// `rule`: the rule's operands beside `gradient_scale`, `learning_rate` and
// `weight_decay`. `gradient` restricts it to one layer, `layers` to some; with
// `when` it is done only if that element of the mask is not zero. With `along`,
// the gradient is in no memory: it is that of `hone.estimate_gradient`, formed
// where it is read. `rate_of_b` is in place of `learning_rate` for B of adapters
// and for vectors (LoRA+, Hayou et al. 2024). `rounding` is there
// exactly when parameters or the optimizer's state are rounded at random to
// bfloat16: each new value is computed in the type of the gradient and becomes
// one of its two neighbours, the upper one with the probability
// (value - lower) / (upper - lower). Element i of a tensor has the bits at i of
// the random stream whose purpose is Round and whose name is the tensor's: its
// parameter takes the upper 16, and its state the 16 below these.
class Hone_UpdateOp<string mnemonic, dag rule, string format>
    : Hone_Op<mnemonic, [AttrSizedOperandSegments, ParentOneOf<["EntryOp"]>,
        DeclareOpInterfaceMethods<Hone_UpdateOpInterface,
                                  ["getStateSlots"]>]> {
  let arguments = !con((ins Hone_Scalar:$gradient_scale,
                            Hone_Scalar:$learning_rate,
                            Hone_Scalar:$weight_decay),
                       rule,
                       (ins Optional<Hone_Scalar>:$rate_of_b,
                            Optional<Hone_RandomKey>:$rounding,
                            Optional<Hone_Vector>:$gradient,
                            Optional<Hone_RandomKey>:$key,
                            Optional<Hone_Coefficients>:$coefficients,
                            OptionalAttr<StrArrayAttr>:$layers,
                            Optional<Hone_OfLayers>:$mask,
                            OptionalAttr<I64Attr>:$mask_index));
  let assemblyFormat = "$gradient_scale `,` $learning_rate `,` $weight_decay "
                       # format # [{
    (`rate_of_b` $rate_of_b^)?
    (`round` $rounding^)? (`from` $gradient^ `:` type($gradient))?
    (`along` $key^ `,` $coefficients `:` type($coefficients))? (`on` $layers^)?
    (`when` $mask^ `[` $mask_index `]` `:` type($mask))? attr-dict
  }];
  let hasVerifier = 1;
}

def Hone_SgdOp : Hone_UpdateOp<"sgd",
    (ins Optional<Hone_Scalar>:$momentum, UnitAttr:$narrow),
    "(`momentum` $momentum^)? (`in_bfloat16` $narrow^)?"> {
  let summary = "stochastic gradient descent";
  let description = [{
    As torch.optim.SGD: `g = gradient_scale * gradient + weight_decay * theta`;
    with `momentum`, `m = momentum * m + g` and `g = m`;
    `theta = theta - learning_rate * g`. On all trainable parameters, or with
    `on` on those of some layers, which lie one after another, or with `from` on
    those of one; with `rate_of_b`, B of adapters and vectors have that learning
    rate; with `round`, parameters are bfloat16 and rounded at random without bias.
    With `in_bfloat16`, `m` is stored as bfloat16, rounded so as well; the step is
    that of `m` before it is rounded.

    1. (C1) `gradient` is the result of a `hone.layer_gradient`.
    2. (C2) `from` stands together with neither `along` nor `on`.
    3. (C3) `mask` is an argument of the entry and has an element `mask_index`.

    Example:
    ```mlir
    hone.entry update @update(%g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>) {
      hone.sgd %g, %l, %w
    }
    hone.entry update @narrow(
        %g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>, %m: tensor<f64>,
        %key: tensor<4xi32>) {
      hone.sgd %g, %l, %w momentum %m in_bfloat16 round %key
    }
    hone.entry update @some(
        %g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>, %mask: tensor<8xi32>) {
      hone.sgd %g, %l, %w on ["model.layers.3."] when %mask[3] : tensor<8xi32>
    }
    hone.entry gradient @step(%g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>) {
      %d = hone.layer_gradient "model.layers.0." : tensor<16xf32>
      hone.sgd %g, %l, %w from %d : tensor<16xf32>
    }
    hone.entry update @move(
        %g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>,
        %key: tensor<4xi32>, %c: tensor<1xf32>) {
      hone.sgd %g, %l, %w along %key, %c : tensor<1xf32> on ["model.layers.0."]
    }
    ```
  }];
}

defvar Hone_AdamNumbers = (ins Hone_Scalar:$beta1, Hone_Scalar:$beta2,
                               Hone_Scalar:$epsilon,
                               Hone_Scalar:$bias_correction1,
                               Hone_Scalar:$bias_correction2);
defvar Hone_AdamFormat = [{
  `,` $beta1 `,` $beta2 `,` $epsilon `,` $bias_correction1
  `,` $bias_correction2
}];

def Hone_AdamwOp : Hone_UpdateOp<"adamw", Hone_AdamNumbers, Hone_AdamFormat> {
  let summary = "AdamW";
  let description = [{
    As torch.optim.AdamW (Loshchilov and Hutter 2019, alg. 2), with
    `g = gradient_scale * gradient`:
    `theta = theta * (1 - learning_rate * weight_decay)`,
    `m = beta1 * m + (1 - beta1) * g`, `v = beta2 * v + (1 - beta2) * g^2`,
    `theta = theta - learning_rate / c1 * m / (sqrt(v / c2) + epsilon)`, where
    `c1` and `c2` are the bias corrections `1 - beta^step`. On all trainable
    parameters, or with `on` on those of some layers, which lie one after another,
    or with `from` on those of one; with `rate_of_b`, B of adapters and vectors
    have that learning rate; with `round`, parameters are bfloat16 and rounded at
    random without bias.

    1. (C1) `gradient` is the result of a `hone.layer_gradient`.
    2. (C2) `from` stands together with neither `along` nor `on`.
    3. (C3) `mask` is an argument of the entry and has an element `mask_index`.

    Example:
    ```mlir
    hone.entry update @update(
        %g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>, %b1: tensor<f64>,
        %b2: tensor<f64>, %e: tensor<f64>, %c1: tensor<f64>, %c2: tensor<f64>) {
      hone.adamw %g, %l, %w, %b1, %b2, %e, %c1, %c2
    }
    ```
  }];
}

def Hone_AdamwCodedOp
    : Hone_UpdateOp<"adamw_coded", Hone_AdamNumbers, Hone_AdamFormat> {
  let summary = "AdamW whose moments are bytes";
  let description = [{
    `hone.adamw`, but of the moments there is, between steps, a byte for each
    element and the largest magnitude of each block of `numerics::kStateBlock`
    elements of a tensor: block-wise dynamic quantization (Dettmers et al. 2022,
    arXiv 2110.02861, section 2). A byte counts the entries of a table in their
    order; a moment is the entry times its block's largest magnitude. It becomes
    the nearest entry, the lower one of two that are as near. StateCodes.h has
    both tables.

    One thing differs from the paper: a second moment that is not zero never
    becomes zero. Its square root divides, so a parameter whose gradient is
    small beside its block's would make a step of `m / epsilon`.

    A step is that of the moments before they become bytes.

    1. (C1) `gradient` is the result of a `hone.layer_gradient`.
    2. (C2) `from` stands together with neither `along` nor `on`.
    3. (C3) `mask` is an argument of the entry and has an element `mask_index`.

    Example:
    ```mlir
    hone.entry update @update(
        %g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>, %b1: tensor<f64>,
        %b2: tensor<f64>, %e: tensor<f64>, %c1: tensor<f64>, %c2: tensor<f64>) {
      hone.adamw_coded %g, %l, %w, %b1, %b2, %e, %c1, %c2
    }
    ```
  }];
}

def Hone_LionOp : Hone_UpdateOp<"lion",
    (ins Hone_Scalar:$beta1, Hone_Scalar:$beta2, UnitAttr:$narrow),
    "`,` $beta1 `,` $beta2 (`in_bfloat16` $narrow^)?"> {
  let summary = "Lion: the sign of a momentum";
  let description = [{
    Chen et al. 2023 (arXiv 2302.06675), program 1, with
    `g = gradient_scale * gradient`:
    `theta = theta * (1 - learning_rate * weight_decay)`,
    `theta = theta - learning_rate * sign(beta1 * m + (1 - beta1) * g)`, then
    `m = beta2 * m + (1 - beta2) * g`. The sign of zero is zero. With
    `in_bfloat16`, `m` is stored as bfloat16, rounded at random without bias.
    `on`, `from`, `rate_of_b` and `round` as in `hone.sgd`.

    1. (C1) `gradient` is the result of a `hone.layer_gradient`.
    2. (C2) `from` stands together with neither `along` nor `on`.
    3. (C3) `mask` is an argument of the entry and has an element `mask_index`.

    Example:
    ```mlir
    hone.entry update @update(
        %g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>, %b1: tensor<f64>,
        %b2: tensor<f64>) {
      hone.lion %g, %l, %w, %b1, %b2
    }
    ```
  }];
}

def Hone_AdafactorOp : Hone_UpdateOp<"adafactor",
    (ins Hone_Scalar:$epsilon, Hone_Scalar:$clip_threshold,
         Hone_Scalar:$second_moment_part),
    "`,` $epsilon `,` $clip_threshold `,` $second_moment_part"> {
  let summary = "Adafactor: a second moment as sums of rows and of columns";
  let description = [{
    Shazeer and Stern 2018 (arXiv 1804.04235), algorithm 4 with a learning rate
    that is given, as transformers.Adafactor with `scale_parameter` and
    `relative_step` false: no first moment. For a gradient `G` of `m` rows and
    `n` columns, with `g = gradient_scale * G` and
    `p = second_moment_part`, which is `step^decay_rate`,
    `R_i = (1 - p) R_i + p mean_j(g_ij^2 + epsilon)`,
    `C_j = (1 - p) C_j + p mean_i(g_ij^2 + epsilon)`,
    `U_ij = g_ij / sqrt(R_i / mean(R)) / sqrt(C_j)`,
    `U = U / max(1, sqrt(mean(U^2)) / clip_threshold)`,
    `theta = theta * (1 - learning_rate * weight_decay) - learning_rate * U`.
    A vector is a matrix of one row, so that `C` is the moment of each element.
    Sums are taken in double precision.

    1. (C1) `gradient` is the result of a `hone.layer_gradient`.
    2. (C2) `from` stands together with neither `along` nor `on`.
    3. (C3) `mask` is an argument of the entry and has an element `mask_index`.
    4. (C4) There is no `along`: the gradient is read several times.

    Example:
    ```mlir
    hone.entry update @update(
        %g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>, %e: tensor<f64>,
        %d: tensor<f64>, %p: tensor<f64>) {
      hone.adafactor %g, %l, %w, %e, %d, %p
    }
    ```
  }];
}

def Hone_SinkgdOp : Hone_UpdateOp<"sinkgd", (ins), ""> {
  let summary = "SinkGD: a gradient whose rows and columns have one length";
  let description = [{
    Scetbon et al. 2025 (arXiv 2502.06742), algorithms 3 and 4, which remember
    nothing. `X = gradient_scale * gradient` of `m` rows and `n` columns becomes,
    `numerics::kSinkhornRounds` times, `sqrt(n) X_i / |X_i|` for each row, then
    `sqrt(m) X_j / |X_j|` for each column;
    `theta = theta * (1 - learning_rate * weight_decay) - learning_rate * X`.
    Rows and columns of zeros stay so, and `m` does not count such rows: most of
    an embedding's are of tokens that a batch lacks. A vector is a row, whose
    length alone changes. Sums and scales are in double precision.

    1. (C1) `gradient` is the result of a `hone.layer_gradient`.
    2. (C2) `from` stands together with neither `along` nor `on`.
    3. (C3) `mask` is an argument of the entry and has an element `mask_index`.
    4. (C4) There is no `along`: the gradient is read several times.

    Example:
    ```mlir
    hone.entry update @update(
        %g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>) {
      hone.sinkgd %g, %l, %w
    }
    ```
  }];
}

#endif // HONE_OPTIMIZER_TD
