//===- Schedule.td - The items of a step ----------------------------------===//
//
// A schedule is data: the runtime has one interpreter for all of them and knows
// no method, no formula and no rule of selection. Computations on vectors are
// entries, those on a few numbers are scalar functions.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_SCHEDULE_TD
#define HONE_SCHEDULE_TD

include "dialects/Hone/ops/OpBase.td"

// A schedule's values: memory at a run-time base.
defvar Hone_Boundary = AnyRankedTensor;
defvar Hone_Condition = Hone_Integer;

class Hone_InScheduleOp<string mnemonic, list<Trait> traits = []>
    : Hone_Op<mnemonic, !listconcat(traits, [
        ParentOneOf<["ScheduleOp", "RepeatOp"]>])>;
// One that runs at a stage.
class Hone_ItemOp<string mnemonic, list<Trait> traits = []>
    : Hone_InScheduleOp<mnemonic, !listconcat(traits, [Hone_ItemOpInterface])>;

def Hone_ScheduleOp : Hone_Op<"schedule", [IsolatedFromAbove, SingleBlock,
    NoTerminator, NoRegionArguments, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a step as data: items, in the order in which they run";
  let description = [{
    The items that the program runs for a purpose: `train` is one optimizer
    update, `evaluate` the loss of a data set, `differentiate` the gradient of
    some batches without an update, `validate` whether parameters are finite;
    and not in every module, `replay` an update from the reports of `train`,
    without data, and `compare` the gradient of a second method. `generate` is
    alone: it computes new rows of one sequence and the logits after the last.

    1. (C1) a module has one schedule for a purpose.

    Example:
    ```mlir
    func.func private @add(%a: f64, %b: f64) -> f64 {
      %0 = arith.addf %a, %b : f64
      return %0 : f64
    }
    func.func private @zero() -> f64 {
      %0 = arith.constant 0.0 : f64
      return %0 : f64
    }
    hone.block @head() -> tensor<f64> {
      %x = hone.input "hidden" : tensor<?x4xf32>
      %t = hone.input "targets" : tensor<?xi32>
      %w = hone.parameter "head.weight" : tensor<9x4xf32>
      %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
      hone.return %y : tensor<f64>
    }
    hone.entry @loss() -> tensor<f64> {
      %y = hone.call @head "" () : () -> tensor<f64>
      hone.return %y : tensor<f64>
    }
    hone.schedule evaluate {
      %batches = hone.setting "batches" : tensor<i64>
      %zero = hone.scalar @zero() : () -> tensor<f64>
      %sum = hone.repeat %batches carry (%before = %zero) : tensor<f64> {
        %batch = hone.load
        %loss = hone.run @loss() on %batch : () -> tensor<f64>
        %after = hone.scalar @add(%before, %loss) : (tensor<f64>, tensor<f64>) -> tensor<f64>
        hone.yield %after : tensor<f64>
      }
      hone.report %sum as "loss" : tensor<f64>
    }
    ```
  }];
  let arguments = (ins Hone_PurposeAttr:$purpose);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::hone::Purpose":$purpose)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
}

def Hone_SettingOp : Hone_InScheduleOp<"setting"> {
  let summary = "a number that the program gives";
  let description = [{
    An option of the run or a counter of the step, by name: `learning_rate`,
    `completed`, `batches`, ... (runtime.h has the list). It is the same from the
    first item of the schedule to the last. Several numbers are for `replay`:
    the report of that name of `train`. `before.NAME` is the report NAME of the
    step before, zeros at first; checkpoints have it.
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyTypeOf<[Hone_Scalar, Hone_Integer,
                                 Hone_Coefficients]>:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let extraClassDeclaration = [{
    /// Whether it counts the data of this step, which only a part that has the
    /// data knows.
    bool isOfData() {
      return getName() == "batches" || getName() == "targets";
    }
  }];
}

def Hone_LoadOp : Hone_ItemOp<"load"> {
  let summary = "the next batch of the data";
  let description = [{
    Each run takes the next samples, in the order that seed and step decide.
    `stage` as in `hone.run`.
  }];
  let arguments = (ins DefaultValuedAttr<I64Attr, "0">:$stage);
  let results = (outs Hone_BatchType:$batch);
  let assemblyFormat = "(`stage` $stage^)? attr-dict";
}

def Hone_RunOp : Hone_ItemOp<"run", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "an entry runs";
  let description = [{
    Runs `entry` on boundary values, `on` a batch if its blocks read inputs or its
    values have rows. With `when`, only if the condition is not zero; if it is
    zero, `else` runs instead, into the same results.

    In a repeat, an item of `stage` `s` runs iteration `i` at tick `i + s`: as many
    iterations are in flight as there are stages. The items of a tick run in the
    order in which they are written. Items that follow one another in different
    `lane`s may run at the same time, so each lane has a working set of its own.

    1. (C1) `entry` names a `hone.entry` of this type.
    2. (C2) so does `otherwise`, which is there only with a condition.
    3. (C3) a conditional run without `otherwise` has no results.
    4. (C4) a run of values with rows has a batch.
    5. (C5) stage and lane are not negative.

    Example:
    ```mlir
    hone.entry vector @zero() {
      hone.zero_gradient
    }
    hone.schedule train {
      hone.run @zero() : () -> ()
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$entry,
                       OptionalAttr<FlatSymbolRefAttr>:$otherwise,
                       Variadic<Hone_Boundary>:$values,
                       Optional<Hone_BatchType>:$batch,
                       Optional<Hone_Condition>:$condition,
                       DefaultValuedAttr<I64Attr, "0">:$stage,
                       DefaultValuedAttr<I64Attr, "0">:$lane);
  let results = (outs Variadic<Hone_Boundary>:$results);
  let assemblyFormat = [{
    $entry `(` $values `)` (`on` $batch^)? (`when` $condition^)?
    (`else` $otherwise^)? (`stage` $stage^)? (`lane` $lane^)? attr-dict `:`
    functional-type($values, $results)
  }];
  let hasVerifier = 1;
}

def Hone_ScalarOp : Hone_ItemOp<"scalar", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "arithmetic on a few numbers";
  let description = [{
    Calls a function of the arith dialect: rates, clipping, coefficients,
    selections. A `tensor<T>` is a `T` to it; a vector is a `memref`, and vectors
    that it makes come last among its arguments.

    1. (C1) `function` names a `func.func` of this type.

    Example:
    ```mlir
    func.func private @clip(%norm: f64, %most: f64) -> f64 {
      %0 = arith.divf %most, %norm : f64
      %one = arith.constant 1.0 : f64
      %1 = arith.minnumf %0, %one : f64
      return %1 : f64
    }
    hone.schedule train {
      %norm = hone.setting "weight_decay" : tensor<f64>
      %most = hone.setting "max_grad_norm" : tensor<f64>
      %clip = hone.scalar @clip(%norm, %most) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$function,
                       Variadic<Hone_Boundary>:$operands,
                       DefaultValuedAttr<I64Attr, "0">:$stage);
  let results = (outs Variadic<Hone_Boundary>:$results);
  let assemblyFormat = [{
    $function `(` $operands `)` (`stage` $stage^)? attr-dict `:`
    functional-type($operands, $results)
  }];
}

def Hone_RepeatOp : Hone_InScheduleOp<"repeat", [
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "items that run again and again";
  let description = [{
    Runs its body `count` times; the count is known when the repeat begins. A
    carried value is that of the iteration before. With stages, ticks run from 0 to
    `count` plus the last stage: the pipeline fills, runs, and drains. `expected`
    is how often estimates take it to run: once where nothing is said.

    1. (C1) `carried`, the body's arguments, its yielded values and `results`
       have the same types, without rows.
    2. (C2) a value that is read at a stage is made at no later one, and a
       carried value is read only at the stage that yields it.
    3. (C3) a yielded value is no carried value but its own.
  }];
  let arguments = (ins Hone_Integer:$count, Variadic<Hone_Boundary>:$carried,
                       DefaultValuedAttr<I64Attr, "1">:$expected);
  let results = (outs Variadic<Hone_Boundary>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// One more than the largest stage.
    int64_t getNumStages();
  }];
}

def Hone_YieldOp : Hone_Op<"yield", [Pure, Terminator, HasParent<"RepeatOp">]> {
  let summary = "gives the next iteration its values";
  let arguments = (ins Variadic<Hone_Boundary>:$operands);
  let builders = [OpBuilder<(ins), [{ (void)$_builder; (void)$_state; }]>];
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

def Hone_CheckOp : Hone_ItemOp<"check"> {
  let summary = "the step goes on only with finite numbers";
  let description = [{
    Ends the schedule with an error if one of the values is infinite or not a
    number. Items before it have run; updates stand after it. `else` says what
    is wrong then, where it is not that training diverged.

    Example:
    ```mlir
    module {
      hone.schedule train {
        %rate = hone.setting "learning_rate" : tensor<f64>
        hone.check %rate : tensor<f64>
        %beta = hone.setting "adam_beta1" : tensor<f64>
        hone.check %beta else "expects a finite beta1" : tensor<f64>
      }
    }
    ```
  }];
  let arguments = (ins Variadic<Hone_Scalar>:$operands,
                       OptionalAttr<StrAttr>:$problem,
                       DefaultValuedAttr<I64Attr, "0">:$stage);
  let assemblyFormat = [{
    $operands (`else` $problem^)? (`stage` $stage^)? attr-dict `:`
    type($operands)
  }];
}

def Hone_FoldOp : Hone_ItemOp<"fold"> {
  let summary = "gradients of all ranks' batches become one sum";
  let description = [{
    Where programs share the batches of a step, one after the other has one, and
    each is a rank: a round is a batch of each rank. The gradient that this rank has
    of its batch, and those of the others, are added to the sum of the rounds
    before, in the order of the batches; then the gradient is zero, but after the
    last round that sum. Of one program alone it does nothing: the setting `alone`
    is 1 then, and batches are folded as they are made (`hone.fold_gradient`).

    The owner of a slice of the gradient adds it, element by element, so slices
    change no bit. `stage` as in `hone.run`.

    Example:
    ```mlir
    module {
      hone.schedule train {
        %batches = hone.setting "batches" : tensor<i64>
        hone.repeat %batches {
          %batch = hone.load
          hone.fold
          hone.yield
        }
      }
    }
    ```
  }];
  let arguments = (ins DefaultValuedAttr<I64Attr, "0">:$stage);
  let assemblyFormat = "(`stage` $stage^)? attr-dict";
}

def Hone_ReportOp : Hone_InScheduleOp<"report", [HasParent<"ScheduleOp">]> {
  let summary = "a number for the program that runs the schedule";
  let description = [{
    Progress and logs show it: `loss`, `gradient_norm`, `learning_rate`; and
    `coefficients`, all that a step adds to the seed: with them `replay` makes
    the same update. Of `generate`: `logits`, a number for each token.
  }];
  let arguments = (ins AnyTypeOf<[Hone_Scalar, Hone_Numbers,
                                   Hone_Coefficients]>:$value,
                       StrAttr:$name);
  let assemblyFormat = "$value `as` $name attr-dict `:` type($value)";
}

def Hone_LateOp : Hone_InScheduleOp<"late", [HasParent<"ScheduleOp">]> {
  let summary = "values of an earlier step, in programs that update late";
  let description = [{
    In one program `lates` are `values`, and `steps` is 0. Where parts are programs
    of their own (`hone-separate-parts`) only the last one makes `values`, and
    each sends its `lates` to the part below, which has them in its next step:
    so a part that is `d` below the last has the values of `d` steps ago, zeros
    in the first `d` steps, and `steps` is `d`. So no part waits for the values
    of its own step (AsyncFGD, Zhao et al. 2023, eq. 8). Each part but the first
    gives the values that it sent in a step to checkpoints, as a report.

    1. (C1) `lates` have the types of `values`.

    Example:
    ```mlir
    module {
      hone.schedule train {
        %slopes = hone.setting "coefficients" : tensor<2xf32>
        %late, %steps = hone.late %slopes : (tensor<2xf32>) -> (tensor<2xf32>, tensor<i64>)
      }
    }
    ```
  }];
  let arguments = (ins Variadic<Hone_Coefficients>:$values);
  let results = (outs Variadic<Hone_Coefficients>:$lates, Hone_Integer:$steps);
  let assemblyFormat = [{
    $values attr-dict `:` functional-type($values, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

// Posting and waiting are apart, so that items in between run while the message
// travels. A message is named by schedule, step, channel and its number among
// those of the channel in the step: both sides know it without counting since
// they began.

// A batch travels as its number of rows and those of its inputs that are named,
// each with its type: `inputs {targets = tensor<?xi32>}`.
defvar Hone_Exchanged = AnyTypeOf<[Hone_Boundary, Hone_BatchType]>;

class Hone_ExchangeOp<string mnemonic> : Hone_ItemOp<mnemonic> {
  let hasVerifier = 1;
}

def Hone_SendOp : Hone_ExchangeOp<"send"> {
  let summary = "a value or a batch leaves for another part";
  let description = [{
    Posts `value` to `peer` on `channel`. Its memory is read until the
    `hone.wait` of that value and iteration. `behind` says after how many steps
    `peer` receives it: messages of so many steps before a checkpoint are sent
    again after it.

    1. (C1) `peer` and `channel` are not empty.
    2. (C2) a batch, and nothing else, has `inputs`.
    3. (C3) `behind` is not negative, and zero of a batch.

    Example:
    ```mlir
    module {
      hone.schedule train {
        %rate = hone.setting "learning_rate" : tensor<f64>
        hone.send %rate to "upper" channel "rate" : tensor<f64>
        hone.wait %rate : tensor<f64>
        %batch = hone.load
        hone.send %batch to "upper" channel "batch" inputs {targets = tensor<?xi32>} : !hone.batch
        hone.wait %batch : !hone.batch
      }
    }
    ```
  }];
  let arguments = (ins Hone_Exchanged:$value, StrAttr:$peer, StrAttr:$channel,
                       Optional<Hone_BatchType>:$batch,
                       OptionalAttr<DictionaryAttr>:$inputs,
                       DefaultValuedAttr<I64Attr, "0">:$behind,
                       DefaultValuedAttr<I64Attr, "0">:$stage);
  let assemblyFormat = [{
    $value `to` $peer `channel` $channel (`on` $batch^)? (`inputs` $inputs^)?
    (`behind` $behind^)? (`stage` $stage^)? attr-dict `:` type($value)
  }];
}

def Hone_ReceiveOp : Hone_ExchangeOp<"receive"> {
  let summary = "a value or a batch arrives from another part";
  let description = [{
    Posts the memory of `value` for a message of `peer` on `channel`. It may be
    read after a `hone.wait` for it. `behind` says of how many steps before the
    message is: as long as there was no such step, the value is zero and nothing
    is posted.

    1. (C1) `peer` and `channel` are not empty.
    2. (C2) a batch, and nothing else, has `inputs`.
    3. (C3) `behind` is not negative, and zero of a batch.

    Example:
    ```mlir
    module {
      hone.schedule train {
        %rate = hone.receive from "lower" channel "rate" : tensor<f64>
        hone.wait %rate : tensor<f64>
        hone.check %rate : tensor<f64>
        %slope = hone.receive from "lower" channel "slope" behind 2 : tensor<f64>
        hone.wait %slope : tensor<f64>
      }
    }
    ```
  }];
  let arguments = (ins StrAttr:$peer, StrAttr:$channel,
                       Optional<Hone_BatchType>:$batch,
                       OptionalAttr<DictionaryAttr>:$inputs,
                       DefaultValuedAttr<I64Attr, "0">:$behind,
                       DefaultValuedAttr<I64Attr, "0">:$stage);
  let results = (outs Hone_Exchanged:$value);
  let assemblyFormat = [{
    `from` $peer `channel` $channel (`on` $batch^)? (`inputs` $inputs^)?
    (`behind` $behind^)? (`stage` $stage^)? attr-dict `:` type($value)
  }];
}

def Hone_WaitOp : Hone_ItemOp<"wait"> {
  let summary = "until a value or a batch has left or arrived";
  let description = [{
    Blocks until every exchange of `value` in this iteration has ended.

    1. (C1) `value` is sent or received before it, in the same body.
  }];
  let arguments = (ins Hone_Exchanged:$value,
                       DefaultValuedAttr<I64Attr, "0">:$stage);
  let assemblyFormat = "$value (`stage` $stage^)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

// Ops of an entry that read or write a vector of all trainable elements, or
// with `on` those of some layers, which lie one after another.
class Hone_VectorOp<string mnemonic, list<Trait> traits = []> :
    Hone_Op<mnemonic, traits # [ParentOneOf<["EntryOp"]>]>;

def Hone_ZeroGradientOp : Hone_VectorOp<"zero_gradient"> {
  let summary = "sets the gradient of every parameter to zero";
  let assemblyFormat = "attr-dict";
}

def Hone_ZeroStateOp : Hone_VectorOp<"zero_state"> {
  let summary = "sets the optimizer's state to zero";
  let description = [{
    All vectors of the state, of all trainable parameters, or with `on` of those
    of some layers.

    Example:
    ```mlir
    hone.entry vector @zero_state() {
      hone.zero_state on ["model.layers.0."]
    }
    ```
  }];
  let arguments = (ins OptionalAttr<StrArrayAttr>:$layers);
  let assemblyFormat = "(`on` $layers^)? attr-dict";
}

def Hone_EstimateGradientOp : Hone_VectorOp<"estimate_gradient"> {
  let summary = "the gradient of every parameter, a sum of random directions";
  let description = [{
    `gradient = sum_p coefficients[p] * z_p`, where `z_p` is the direction of
    `hone.perturbed` whose key is `key` with the probe `p`; with `scale`, so many
    times that. Summed in f64 and rounded once. With `on`, only of those layers.

    Example:
    ```mlir
    hone.entry vector @estimate(%key: tensor<4xi32>, %c: tensor<2xf32>) {
      hone.estimate_gradient along %key, %c : tensor<2xf32>
    }
    ```
  }];
  let arguments = (ins Hone_RandomKey:$key, Hone_Coefficients:$coefficients,
                       Optional<Hone_Scalar>:$scale,
                       OptionalAttr<StrArrayAttr>:$layers);
  let assemblyFormat = [{
    `along` $key `,` $coefficients (`scale` $scale^)? (`on` $layers^)? attr-dict
    `:` type($coefficients)
  }];
}

class Hone_SquaresOp<string mnemonic> : Hone_VectorOp<mnemonic, [
    DeclareOpInterfaceMethods<Hone_PerParameterOpInterface>]> {
  let arguments = (ins OptionalAttr<StrArrayAttr>:$layers);
  let results = (outs 1DTensorOf<[F64]>:$squares);
  let assemblyFormat = "(`on` $layers^)? attr-dict `:` type($squares)";
  let extraClassDefinition = [{
    ::mlir::OpResult $cppClass::getNumbers() { return getOperation()->getResult(0); }
  }];
}

def Hone_GradientSquaresOp : Hone_SquaresOp<"gradient_squares"> {
  let summary = "sums of the squares of each parameter's gradient";
  let description = [{
    In double precision, one sum for each trainable parameter, in the order of the
    table of parameters. So how the model is cut into parts changes no bit of a
    norm that is taken of all of them. Not finite where an element is not finite.

    1. (C1) `squares` has as many elements as there are trainable parameters, in
       the layers of `on` if there is one.

    Example:
    ```mlir
    hone.block @sink() {
      %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
      hone.gradient %a of "a" : tensor<2x4xf32>
      hone.return
    }
    hone.entry gradient @gradient() {
      hone.call @sink "layers.0." () : () -> ()
    }
    hone.entry vector @gradient_squares() -> tensor<1xf64> {
      %squares = hone.gradient_squares : tensor<1xf64>
      hone.return %squares : tensor<1xf64>
    }
    ```
  }];
}

def Hone_ParameterSquaresOp : Hone_SquaresOp<"parameter_squares"> {
  let summary = "sums of the squares of each trainable parameter";
  let description = [{
    As `hone.gradient_squares`, of the parameters themselves: whether they are
    finite is known before they are saved.

    1. (C1) `squares` has as many elements as there are trainable parameters.

    Example:
    ```mlir
    hone.entry vector @parameter_squares() -> tensor<0xf64> {
      %squares = hone.parameter_squares : tensor<0xf64>
      hone.return %squares : tensor<0xf64>
    }
    ```
  }];
}

#endif // HONE_SCHEDULE_TD
