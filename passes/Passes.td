//===- Passes.td - The needs and guarantees of each pass ------------------===//

#ifndef HONE_PASSES_TD
#define HONE_PASSES_TD

include "mlir/Pass/PassBase.td"

class HonePass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::hone::HoneDialect"];
}

def DeriveBackward : HonePass<"hone-derive-backward"> {
  let summary = "derive the entry of the gradient from that of the loss";
  let description = [{
    Needs: one forward entry, all of whose calls run, that returns the loss, the one
    result of a call. Guarantees: an entry `@gradient` that returns it too and sends
    `scale * d(loss)/d(p)` of every trainable parameter `p` to a `hone.gradient`;
    `scale` is its last argument. Each block that trains is derived once for each
    policy of its layers: `@b.backward` with the ops that it recomputes,
    `@b.forward` if it keeps more than its inputs (with the policy at the end,
    as in `@b.backward.full`, if layers differ), and `@b.gradient` for the block
    of the loss, whose two halves run back to back. Where one part alone has a
    method with a backward (`hone.method`), only parameters of its layers have
    gradients: those of the others are constants, through which the cotangent
    goes by `@b.backward.held`, and below the lowest layer that trains there is
    no backward. Where no method has one, nothing is done. Leaves alone: the
    entry of the loss and the blocks that it calls.
  }];
  let options = [
    Option<"residuals", "residuals", "std::string", /*default=*/"\"mesp\"",
           "values that the forward pass keeps: mesp (block inputs only), store-h "
           "(also h = xA), mebp (block inputs; the backward runs the whole "
           "block again), narrow (also inner values that are no wider than "
           "block inputs), products (all that the backward reads, but for what "
           "cheap ops recompute) or full (all of it); the last three with "
           "-bfloat16 keep inner values rounded, which changes gradients; or "
           "layer by layer, as in mesp*20+full*4">,
    Option<"recomputedInputs", "recomputed-inputs", "int64_t", /*default=*/"0",
           "how many block inputs are not kept but computed again, before the "
           "backward of the layers that read them">,
    Option<"roundedInputs", "rounded-inputs", "int64_t", /*default=*/"0",
           "how many of the block inputs that are kept are kept in bfloat16; "
           "this changes gradients">
  ];
}

def DeriveGeneration : HonePass<"hone-derive-generation"> {
  let summary = "turn a model and its loss into a step that generates text";
  let description = [{
    Needs: one forward entry, all of whose calls run, that returns the loss, the
    one result of a call. Guarantees: in its place an entry `@generate` that
    computes up to `rows` new rows of one sequence of up to `positions`, and
    returns the logits after the last; a `hone.schedule generate` that runs it;
    `hone.max_rows` and `hone.max_positions` of the two numbers. Each block that
    it calls is as it was, but for ops that say how they continue a sequence
    (ContinuationOpInterface): their memory is a `hone.cache` of each layer.
    Inputs that nothing reads any more, other entries and blocks are gone.
  }];
  let options = [
    Option<"rows", "rows", "int64_t", /*default=*/"1",
           "most new rows of a step: tokens of a prompt that are computed "
           "together">,
    Option<"positions", "positions", "int64_t", /*default=*/"1",
           "most tokens of a sequence, at least as many as rows">
  ];
}

def ScheduleStep : HonePass<"hone-schedule-step"> {
  let summary = "add the schedules that train, evaluate and differentiate";
  let description = [{
    Needs: a forward entry that returns the loss, and for methods with a backward
    an entry of the phase `gradient`. Guarantees: a `hone.schedule` for each purpose,
    and the entries that they run beside those. Leaves alone: the other entries
    that are there. The attribute `hone.method` of the module names the methods
    and their settings in the words of a spec (methods/StepSettings.h), and is
    then removed.

    `backprop` and `lcsb`: an entry that zeroes the gradient, one that sums its
    squares, and `@update` with one optimizer op on all trainable parameters, whose
    arguments are scalars that the schedule computes; with `optimizer_in_backward`,
    instead of it `@gradient.update`, which does the same as `@gradient` and
    updates each layer after the last call that adds to its gradients or reads
    its parameters. `@gradient` has an argument more: where it is not zero, a
    layer's gradients begin at zero and are then folded to those of the batches
    before. With `data_parallel`, a `hone.fold` follows the gradient of a batch,
    so that ranks may share the batches of a step, and have the bits of one
    program that has them all.

    `lcsb`: a step runs the backwards of the layers that a formula selects before it,
    all of its batches alike. Through the others the cotangent goes unchanged, and
    of a gradient that keeps block inputs only as many are kept as the largest
    selection has; or with `unselected` exact as it went before. With
    `unselected_update` none an update is of the selected layers only
    (docs/methods/lcsb.md).

    `mezo` and `mezo-one-sided`: a copy of the loss, `@loss.perturbed`, whose
    trainable parameters are moved along a direction that a key names; `@update` along
    all directions, and a schedule `replay`. Nothing but an update writes a parameter,
    and there is no gradient but for `differentiate`, which has the estimate
    (docs/methods/mezo.md).

    `fgd`: the same with `@loss.tangent`, a copy of the loss that carries the
    derivative along a direction beside each value (docs/methods/forward-gradient.md).

    With `lower` and `upper`, the layers below and above a cut have a
    method each; names of entries, settings and reports then begin with the part's.
    All batches of a step go through both, and updates come last (docs/methods/parts.md).

    With `compare`, a schedule of that purpose puts the gradient of another method
    where `differentiate` puts that of `method`. Names of its entries and settings
    begin with "compare."; the other schedules are as without (docs/methods/compare.md).
  }];
  let dependentDialects = [
    "::hone::HoneDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def SplitParts : HonePass<"hone-split-parts"> {
  let summary = "cut the model into parts";
  let description = [{
    Needs: scheduled entries. Guarantees: each entry of calls is cut where calls of
    the layers below one of the cuts in `after` meet those above, into entries of the
    parts; runs of it are runs of the pieces in order, and values that cross are
    boundary values; pools are of one part. Numbers change only where `dtype`
    rounds: hidden states, cotangents and tangents that one part makes and
    another reads. Leaves alone: entries without calls. With `in-flight` n above
    1, so many iterations of a repeat are under way at once: the k-th piece of a
    run is of the stage k, up to n - 1, and readers of its results are of the
    last. So a part runs the next probes or batches while the others are at
    work; sums are in the same order.
  }];
  let options = [
    ListOption<"after", "after", "int64_t",
               "of each part but the last its last layer, counted from 1; 0: the "
               "part only makes the hidden states; none: no cut">,
    ListOption<"names", "names", "std::string",
               "of the parts, in order; default: lower and upper, or part1, "
               "part2, ...">,
    Option<"dtype", "dtype", "std::string", /*default=*/"\"\"",
           "bfloat16: float32 values cross rounded; empty: as they are">,
    Option<"inFlight", "in-flight", "int64_t", /*default=*/"1",
           "iterations of a repeat that are under way at once">
  ];
  let dependentDialects = [
    "::hone::HoneDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def SeparateParts : HonePass<"hone-separate-parts"> {
  let summary = "make each part of a model that was cut a module of its own";
  let description = [{
    Needs: schedules whose entries have parts. Guarantees: one module inside for each
    part, with its name, and nothing else. Of the runs of entries that have a part,
    a module has only those of its own; values that cross between it and the
    others are sent and received instead. Only the first part loads batches and
    knows the counts of a step: the others receive the counts, the rows and
    those inputs that they read. A run's results over parameters are gathered
    from all parts, in the whole model's order. So all parts together compute
    the bits of the whole. An op without a part is in all modules, for the
    layers that are there.
  }];
  let dependentDialects = [
    "::hone::HoneDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def VerifyExchanges : HonePass<"hone-verify-exchanges"> {
  let summary = "verify that the exchanges of all parts fit together";
  let description = [{
    The seam after separation, over the modules inside. Runs the schedules of each
    purpose symbolically, all parts together, and guarantees that every send has its
    receive, of the same type and in the same order on its channel, that each is
    waited for before its value is read or made anew, and that with the slots at hand
    nobody waits for ever: a send ends when its receive is posted, or at once if it is
    of 64 bytes at most. Changes nothing.
  }];
}

def ExtractPart : HonePass<"hone-extract-part"> {
  let summary = "keep one of the modules of parts";
  let description = [{
    Needs: modules of parts. Guarantees: the contents of the one called `part`,
    in place of all of them. Of a model that was cut and has none yet, makes
    that part alone, as hone-separate-parts does.
  }];
  let options = [
    Option<"part", "part", "std::string", /*default=*/"\"\"",
           "the part to keep">
  ];
}

def EraseUnused : HonePass<"hone-erase-unused"> {
  let summary = "remove entries and blocks that no schedule runs";
  let description = [{
    Removes entries that no schedule runs, if there is a schedule, and blocks that
    no entry calls.
  }];
}

def VerifyStep : HonePass<"hone-verify-step"> {
  let summary = "verify the contract between derivation and placement";
  let description = [{
    The seam after derivation. Guarantees that every trainable parameter has a
    gradient in the entries of `train`, conditional or not, that every gradient
    is of a trainable parameter and has its type, and that the parameters of all
    layers have one type under one name. In an entry that updates layers, that
    each layer is updated once, after everything that adds to its gradients or
    reads its parameters. That no `hone.late` is left, which only parts in
    programs of their own understand. Changes nothing.
  }];
}

def Rematerialize : HonePass<"hone-rematerialize"> {
  let summary = "compute cheap values again instead of keeping them for later";
  let description = [{
    Needs: a verified step. Guarantees: a value that an element-wise op computes
    from arguments of its block is in memory only around uses that lie close
    together; a later use has a copy of the op before it. No bit changes.
  }];
}

def TileRows : HonePass<"hone-tile-rows"> {
  let summary = "run wide row-wise ops for one slice of rows after another";
  let description = [{
    Needs: a verified step. Guarantees: each longest run of row-wise ops that
    has a value inside with longer rows than all that cross its border is a
    `hone.row_tiles`; its wide values exist for the rows of one tile at a time.
    A block without sinks is one `hone.row_tiles` of whole sequences, attention
    included, where the target runs such tiles, all ops of the block can run in
    them, and `forward-rows` has room for the longest sequence: the lowest such
    height, or `forward-rows` from twice that on. No bit of any result changes.
    Leaves alone: blocks whose tile would be the whole batch.
  }];
  let options = [
    Option<"rows", "rows", "int64_t", /*default=*/"0",
           "rows of a tile in blocks with sinks of gradients, a multiple of "
           "numerics::kGradientRows; 0: no tiles">,
    Option<"forwardRows", "forward-rows", "int64_t", /*default=*/"0",
           "the same in the other blocks, which need less memory">
  ];
}

def OffloadInputs : HonePass<"hone-offload-inputs"> {
  let summary = "values that backwards read rest in a file after the forward";
  let description = [{
    Needs: a verified step. Guarantees: in every entry, values that the first
    `inputs` calls make and that calls far apart read, results and values kept
    for a backward, are written to the file of offloaded values beside the calls
    that follow, and read again beside the call before the backward that needs
    them. Values narrower than a sixteenth of a call's first result stay. Numbers
    do not change.
  }];
  let options = [
    Option<"inputs", "inputs", "int64_t", /*default=*/"0",
           "how many calls, the first ones; more than there are: all">
  ];
}

def StreamWeights : HonePass<"hone-stream-weights"> {
  let summary = "keep few of the frozen weights resident";
  let description = [{
    Needs: a verified step. Guarantees: in every entry, each call that reads
    frozen parameters is followed by a `hone.release` of them, unless the next
    call reads one of them too, and preceded, one call ahead, by a
    `hone.prefetch`; ops that read a weight piece by piece let each piece go.
    With `tables` only ops do that read named rows of a table, where nothing else
    reads it, it is large, and the rest of the step takes a hundred times as long
    for each row. Numbers do not change.
  }];
  let options = [
    Option<"tables", "tables", "bool", /*default=*/"false",
           "let go of tables alone, whose rows cost next to nothing">
  ];
}

def Place : HonePass<"hone-place"> {
  let summary = "give every buffer an offset and a lifetime in one arena";
  let description = [{
    Needs: a verified step. Guarantees: `hone.arena_bytes` on the module; a
    `hone.region` for everything that outlives a schedule (parameter vector,
    gradients, optimizer state, inputs of a batch); slots on every op of a block,
    every call of an entry and every item of a schedule, where a run's scratch is
    the working set of its entry. A result that its op can write over a dying
    operand takes that operand's memory. Schedules share the memory above the
    regions: they never run at the same time. Where an entry updates layer by
    layer, or along random directions, the gradient of all parameters is after
    the arena: only a run that writes gradients has memory for it. So are,
    without `accumulates`, the gradients of a layer that a step of several
    batches needs.

    With `halvings`, everything is placed again for a half of `hone.max_rows`,
    for a quarter and so on: `hone.fewer_rows`. Offsets and sizes of these
    placements stand beside those of the first. Regions of the arena are in all
    of them the same.
  }];
  let options = [
    Option<"accumulates", "accumulates", "bool", /*default=*/"false",
           "steps have several batches">,
    Option<"halvings", "halvings", "int64_t", /*default=*/"0",
           "further placements, each for half as many rows as the one before">,
    Option<"apartColumns", "apart-columns", "int64_t", /*default=*/"0",
           "matrices of at most so many columns share no memory with others of "
           "their block">
  ];
}

def VerifyPlacement : HonePass<"hone-verify-placement"> {
  let summary = "verify that no two buffers in use at once overlap";
  let description = [{
    The seam after placement. Recomputes lifetimes from the IR and checks every
    slot against them, against the arena and against each other, in each
    placement.
  }];
}

def ConvertToTiles : HonePass<"hone-convert-to-tiles"> {
  let summary = "turn blocks and entries into functions of tile ops";
  let description = [{
    Needs: a placed module. Guarantees: no `hone` op remains; where regions are
    is in the functions from here on, which keep to the rules of
    `hone-verify-tiles`.
    Each block is a private function `(rows, scratch, arguments, parameters,
    inputs, results, gradients)`, each entry `@e` the function `@hone_entry_e`
    that the runtime calls, each scalar function `@f` one of that kind too,
    `@hone_scalar_f`. A value that is only added to a gradient is added there by
    the kernel that computes it. An op without a kernel is an error.
  }];
  let dependentDialects = [
    "::hone::HoneDialect", "::hone::tile::TileDialect",
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
  let options = [
    Option<"blockColumns", "block-columns", "int64_t", /*default=*/"64",
           "columns of f32 of a product that one iteration computes, at most; "
           "of f64 half as many">,
    Option<"blockRows", "block-rows", "int64_t", /*default=*/"0",
           "rows that one iteration computes, at most; 0: all">
  ];
}

def VerifyTiles : HonePass<"hone-verify-tiles"> {
  let summary = "check that functions of tile ops suit every target";
  let description = [{
    Changes nothing. In all functions but those of the host:

    1. There is no op and no type beside those of tile, arith, math, memref, scf
       and func: no pointer and no vector. Inside of `tile.parallel`, there may
       be ops of the dialect `own`, too.
    2. Memory is read and written inside of `tile.parallel`, but for where the
       sequences of a batch start, which decides the tiles of sequences that are
       launched. Only targets whose kernels run on the host get these.
    3. `tile.prefetch` and `tile.release` stand outside of it.
    4. Without `float64`, nothing computes in f64.
    5. `tile.each` stands in `tile.parallel`, and the places that are written in
       it depend on its variables.
  }];
  let dependentDialects = ["::hone::tile::TileDialect"];
  let options = [
    Option<"float64", "float64", "bool", /*default=*/"true",
           "whether the target computes in f64">,
    Option<"own", "own", "std::string", /*default=*/"",
           "the dialect of the kernels that the target has of its own">
  ];
}

#endif // HONE_PASSES_TD
