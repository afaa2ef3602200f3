// Formulas of selections of layers, written as those of derive/ScalarFunctions.mlir:
// which layers a step selects, how many, and the numbers that each keeps from
// the steps before. A selection is an integer for each layer, not zero if it
// trains in this step (docs/methods/lcsb.md).

// How many of n a ratio means: n * ratio, rounded up. A product that is whole
// but for the rounding of ratio and product counts as whole.
func.func private @scalar.part_of(%ratio: f64, %n: i64) -> i64 {
  %n_f = arith.sitofp %n : i64 to f64
  %product = arith.mulf %n_f, %ratio : f64
  %nearly_one = arith.constant 0x3FEFFFFFFFFFFFF8 : f64 // 1 - 2^-50
  %part = arith.mulf %product, %nearly_one : f64
  %whole = arith.fptosi %part : f64 to i64
  %whole_f = arith.sitofp %whole : i64 to f64
  %is_more = arith.cmpf olt, %whole_f, %part : f64
  %rest = arith.extui %is_more : i1 to i64
  %up = arith.addi %whole, %rest : i64
  %one = arith.constant 1 : i64
  %0 = arith.maxsi %up, %one : i64
  return %0 : i64
}

// The first two words that philox4x32 (runtime/src/base/Philox.h) makes of a
// counter and a key. A pair of words is an i64, the first in its lower half.
func.func private @scalar.philox(%low: i64, %high: i64, %key: i64) -> i64 {
  %word = arith.constant 0xFFFFFFFF : i64
  %half = arith.constant 32 : i64
  %factor0 = arith.constant 0xD2511F53 : i64
  %factor1 = arith.constant 0xCD9E8D57 : i64
  %weyl0 = arith.constant 0x9E3779B9 : i64
  %weyl1 = arith.constant 0xBB67AE85 : i64
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %rounds = arith.constant 10 : index
  %end:3 = scf.for %i = %first to %rounds step %step
      iter_args(%x = %low, %y = %high, %k = %key) -> (i64, i64, i64) {
    %c0 = arith.andi %x, %word : i64
    %c1 = arith.shrui %x, %half : i64
    %c2 = arith.andi %y, %word : i64
    %c3 = arith.shrui %y, %half : i64
    %k0 = arith.andi %k, %word : i64
    %k1 = arith.shrui %k, %half : i64
    %p0 = arith.muli %c0, %factor0 : i64
    %p1 = arith.muli %c2, %factor1 : i64
    %p1_high = arith.shrui %p1, %half : i64
    %p0_high = arith.shrui %p0, %half : i64
    %a0 = arith.xori %p1_high, %c1 : i64
    %n0 = arith.xori %a0, %k0 : i64
    %a2 = arith.xori %p0_high, %c3 : i64
    %n2 = arith.xori %a2, %k1 : i64
    // The lower word of each product moves up.
    %n1 = arith.shli %p1, %half : i64
    %n3 = arith.shli %p0, %half : i64
    %next_x = arith.ori %n0, %n1 : i64
    %next_y = arith.ori %n2, %n3 : i64
    %s0 = arith.addi %k0, %weyl0 : i64
    %next_k0 = arith.andi %s0, %word : i64
    %s1 = arith.addi %k1, %weyl1 : i64
    %next_k1 = arith.shli %s1, %half : i64
    %next_k = arith.ori %next_k0, %next_k1 : i64
    scf.yield %next_x, %next_y, %next_k : i64, i64, i64
  }
  return %end#0 : i64
}

// RandomStream(seed, completed, RandomPurpose::Select, "selection").
func.func private @scalar.selection_uniform(%seed: i64, %completed: i64, %index: i64) -> f64 {
  %name = arith.constant 0x95F1E1F299F70174 : i64 // hashStream of the two
  %all = arith.constant -1 : i64
  %other = arith.xori %seed, %all : i64
  %stream = func.call @scalar.philox(%completed, %name, %other) : (i64, i64, i64) -> i64
  %words = func.call @scalar.philox(%index, %stream, %seed) : (i64, i64, i64) -> i64
  %half = arith.constant 32 : i64
  %upper = arith.shli %words, %half : i64
  %lower = arith.shrui %words, %half : i64
  %bits = arith.ori %upper, %lower : i64
  %unused = arith.constant 11 : i64
  %whole = arith.shrui %bits, %unused : i64
  %whole_f = arith.sitofp %whole : i64 to f64
  %unit = arith.constant 0x3CA0000000000000 : f64 // 2^-53
  %0 = arith.mulf %whole_f, %unit : f64
  return %0 : f64
}

// So that all parts of a model select by random numbers of their own: the second
// part from the first one's seed, and each further one from that before it.
func.func private @scalar.upper_seed(%seed: i64) -> i64 {
  %other = arith.constant 0x3C6EF372FE94F82B : i64
  %0 = arith.xori %seed, %other : i64
  return %0 : i64
}
func.func private @scalar.further_seed(%seed: i64) -> i64 {
  %other = arith.constant 0x3C6EF372FE94F82B : i64
  %0 = arith.addi %seed, %other : i64
  return %0 : i64
}

// As many as the ratio says, each choice of them as likely as any other (Knuth,
// The Art of Computer Programming, volume 2, 3.4.2, algorithm S).
func.func private @scalar.select_uniform(%ratio: f64, %completed: i64, %seed: i64, %mask: memref<LENGTHxi32>) {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %n = arith.constant LENGTH : i64
  %wanted = func.call @scalar.part_of(%ratio, %n) : (f64, i64) -> i64
  %none = scf.for %i = %first to %end step %step iter_args(%wants = %wanted) -> i64 {
    %layer = arith.index_cast %i : index to i64
    %u = func.call @scalar.selection_uniform(%seed, %completed, %layer) : (i64, i64, i64) -> f64
    %rest = arith.subi %n, %layer : i64
    %rest_f = arith.sitofp %rest : i64 to f64
    %place = arith.mulf %rest_f, %u : f64
    %wants_f = arith.sitofp %wants : i64 to f64
    %takes = arith.cmpf olt, %place, %wants_f : f64
    %number = arith.extui %takes : i1 to i32
    memref.store %number, %mask[%i] : memref<LENGTHxi32>
    %taken = arith.extui %takes : i1 to i64
    %left = arith.subi %wants, %taken : i64
    scf.yield %left : i64
  }
  return
}

// Each with the ratio as its probability.
func.func private @scalar.select_bernoulli(%ratio: f64, %completed: i64, %seed: i64, %mask: memref<LENGTHxi32>) {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  scf.for %i = %first to %end step %step {
    %layer = arith.index_cast %i : index to i64
    %u = func.call @scalar.selection_uniform(%seed, %completed, %layer) : (i64, i64, i64) -> f64
    %takes = arith.cmpf olt, %u, %ratio : f64
    %number = arith.extui %takes : i1 to i32
    memref.store %number, %mask[%i] : memref<LENGTHxi32>
  }
  return
}

// Group (completed mod groups) of contiguous ones; layer i of n is in group
// floor(i * groups / n).
func.func private @scalar.select_cyclic(%groups: i64, %completed: i64, %mask: memref<LENGTHxi32>) {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %n = arith.constant LENGTH : i64
  %turn = arith.remui %completed, %groups : i64
  scf.for %i = %first to %end step %step {
    %layer = arith.index_cast %i : index to i64
    %product = arith.muli %layer, %groups : i64
    %group = arith.divui %product, %n : i64
    %takes = arith.cmpi eq, %group, %turn : i64
    %number = arith.extui %takes : i1 to i32
    memref.store %number, %mask[%i] : memref<LENGTHxi32>
  }
  return
}

// As many as the ratio says, from where the step before ended on, around.
func.func private @scalar.select_round_robin(%ratio: f64, %completed: i64, %mask: memref<LENGTHxi32>) {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %n = arith.constant LENGTH : i64
  %part = func.call @scalar.part_of(%ratio, %n) : (f64, i64) -> i64
  %turn = arith.remui %completed, %n : i64
  %passed = arith.muli %turn, %part : i64
  %begin = arith.remui %passed, %n : i64
  %back = arith.subi %n, %begin : i64
  scf.for %i = %first to %end step %step {
    %layer = arith.index_cast %i : index to i64
    %ahead = arith.addi %layer, %back : i64
    %distance = arith.remui %ahead, %n : i64
    %takes = arith.cmpi ult, %distance, %part : i64
    %number = arith.extui %takes : i1 to i32
    memref.store %number, %mask[%i] : memref<LENGTHxi32>
  }
  return
}

// Whether a step comes after the first `warmup`.
func.func private @scalar.is_warm(%completed: i64, %warmup: i64) -> i64 {
  %is_past = arith.cmpi uge, %completed, %warmup : i64
  %0 = arith.extui %is_past : i1 to i64
  return %0 : i64
}

// How many before each are selected.
func.func private @scalar.slots(%mask: memref<LENGTHxi32>, %slots: memref<LENGTHxi32>) {
  %none = arith.constant 0 : i32
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %all = scf.for %i = %first to %end step %step iter_args(%before = %none) -> i32 {
    memref.store %before, %slots[%i] : memref<LENGTHxi32>
    %number = memref.load %mask[%i] : memref<LENGTHxi32>
    %after = arith.addi %before, %number : i32
    scf.yield %after : i32
  }
  return
}

// The last ones, as many as the ratio says: those before are frozen.
func.func private @scalar.select_freeze(%ratio: f64, %turn: i64, %mask: memref<LENGTHxi32>) {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %n = arith.constant LENGTH : i64
  %part = func.call @scalar.part_of(%ratio, %n) : (f64, i64) -> i64
  %frozen = arith.subi %n, %part : i64
  scf.for %i = %first to %end step %step {
    %layer = arith.index_cast %i : index to i64
    %takes = arith.cmpi sge, %layer, %frozen : i64
    %number = arith.extui %takes : i1 to i32
    memref.store %number, %mask[%i] : memref<LENGTHxi32>
  }
  return
}

// One after the other, from the first on, around.
func.func private @scalar.select_one(%turn: i64, %mask: memref<LENGTHxi32>) {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %n = arith.constant LENGTH : i64
  %own = arith.remui %turn, %n : i64
  scf.for %i = %first to %end step %step {
    %layer = arith.index_cast %i : index to i64
    %takes = arith.cmpi eq, %layer, %own : i64
    %number = arith.extui %takes : i1 to i32
    memref.store %number, %mask[%i] : memref<LENGTHxi32>
  }
  return
}

// Layer i of n, from 1, with the probability 1 - i / n (1 - ratio).
func.func private @scalar.select_stochastic_depth(%ratio: f64, %turn: i64, %seed: i64, %mask: memref<LENGTHxi32>) {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %one = arith.constant 1.0 : f64
  %n = arith.constant LENGTH : i64
  scf.for %i = %first to %end step %step {
    %layer = arith.index_cast %i : index to i64
    %u = func.call @scalar.selection_uniform(%seed, %turn, %layer) : (i64, i64, i64) -> f64
    %dropped = func.call @scalar.depth_rest(%ratio, %i, %n) : (f64, index, i64) -> f64
    %kept = arith.subf %one, %dropped : f64
    %takes = arith.cmpf olt, %u, %kept : f64
    %chosen = arith.extui %takes : i1 to i32
    memref.store %chosen, %mask[%i] : memref<LENGTHxi32>
  }
  return
}

// Factors of the output and the input of these layers, in evaluation.
func.func private @scalar.depth_weights(%ratio: f64, %weights: memref<LENGTHxf64>) {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %one = arith.constant 1.0 : f64
  %n = arith.constant LENGTH : i64
  scf.for %i = %first to %end step %step {
    %rest = func.call @scalar.depth_rest(%ratio, %i, %n) : (f64, index, i64) -> f64
    %weight = arith.subf %one, %rest : f64
    memref.store %weight, %weights[%i] : memref<LENGTHxf64>
  }
  return
}

func.func private @scalar.depth_rests(%ratio: f64, %rests: memref<LENGTHxf64>) {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %n = arith.constant LENGTH : i64
  scf.for %i = %first to %end step %step {
    %rest = func.call @scalar.depth_rest(%ratio, %i, %n) : (f64, index, i64) -> f64
    memref.store %rest, %rests[%i] : memref<LENGTHxf64>
  }
  return
}

// The probability i / n (1 - ratio), i from 1, that a layer is skipped.
func.func private @scalar.depth_rest(%ratio: f64, %i: index, %n: i64) -> f64 {
  %one = arith.constant 1.0 : f64
  %unit = arith.constant 1 : i64
  %before = arith.index_cast %i : index to i64
  %number = arith.addi %before, %unit : i64
  %number_f = arith.sitofp %number : i64 to f64
  %n_f = arith.sitofp %n : i64 to f64
  %depth = arith.divf %number_f, %n_f : f64
  %drop = arith.subf %one, %ratio : f64
  %0 = arith.mulf %depth, %drop : f64
  return %0 : f64
}

// exp(x) for x <= 0, 0 below -700: x = k ln 2 + r with |r| <= ln(2) / 2, and the
// series of exp(r) (test/reference/ScalarFormulas.h has the same formula).
func.func private @scalar.exp_of_negative(%x: f64) -> f64 {
  %none = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %half = arith.constant 0.5 : f64
  %least = arith.constant -700.0 : f64
  %per_two = arith.constant 1.4426950408889634 : f64 // 1 / ln 2
  %ln2_high = arith.constant 0x3FE62E42FEE00000 : f64
  %ln2_low = arith.constant 0x3DEA39EF35793C76 : f64
  %is_far = arith.cmpf olt, %x, %least : f64
  %near = arith.select %is_far, %least, %x : f64
  %twos = arith.mulf %near, %per_two : f64
  %down = arith.subf %twos, %half : f64
  %k = arith.fptosi %down : f64 to i64
  %k_f = arith.sitofp %k : i64 to f64
  %high = arith.mulf %k_f, %ln2_high : f64
  %rest = arith.subf %near, %high : f64
  %low = arith.mulf %k_f, %ln2_low : f64
  %r = arith.subf %rest, %low : f64
  %terms = arith.constant 13 : index
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %series = scf.for %i = %first to %terms step %step iter_args(%sum = %one) -> f64 {
    %left = arith.subi %terms, %i : index
    %left_i = arith.index_cast %left : index to i64
    %left_f = arith.sitofp %left_i : i64 to f64
    %scaled = arith.mulf %r, %sum : f64
    %term = arith.divf %scaled, %left_f : f64
    %after = arith.addf %one, %term : f64
    scf.yield %after : f64
  }
  %bias = arith.constant 1023 : i64
  %place = arith.constant 52 : i64
  %exponent = arith.addi %k, %bias : i64
  %bits = arith.shli %exponent, %place : i64
  %power = arith.bitcast %bits : i64 to f64
  %all = arith.mulf %series, %power : f64
  %0 = arith.select %is_far, %none, %all : f64
  return %0 : f64
}

// As many as the ratio says, one drawn after the other from those that are left,
// each with a probability proportional to exp(e / (temperature * mean of e)), e
// being its importance; of equal ones if that is 0.
func.func private @scalar.select_importance(%ratio: f64, %turn: i64, %seed: i64, %importance: memref<LENGTHxf32>, %temperature: f64, %mask: memref<LENGTHxi32>) {
  %none = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %off = arith.constant 0 : i32
  %on = arith.constant 1 : i32
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %n = arith.constant LENGTH : i64
  %n_f = arith.sitofp %n : i64 to f64
  %part = func.call @scalar.part_of(%ratio, %n) : (f64, i64) -> i64
  %rounds = arith.index_cast %part : i64 to index
  %known:2 = scf.for %i = %first to %end step %step iter_args(%sum = %none, %most = %none) -> (f64, f64) {
    memref.store %off, %mask[%i] : memref<LENGTHxi32>
    %e = memref.load %importance[%i] : memref<LENGTHxf32>
    %wide = arith.extf %e : f32 to f64
    %after = arith.addf %sum, %wide : f64
    %larger = arith.maximumf %most, %wide : f64
    scf.yield %after, %larger : f64, f64
  }
  %mean = arith.divf %known#0, %n_f : f64
  %unit = arith.mulf %mean, %temperature : f64
  %has_unit = arith.cmpf ogt, %unit, %none : f64
  %divisor = arith.select %has_unit, %unit, %one : f64
  scf.for %round = %first to %rounds step %step {
    %total = scf.for %i = %first to %end step %step iter_args(%sum = %none) -> f64 {
      %weight = func.call @scalar.importance_weight(%importance, %mask, %i, %known#1, %divisor) : (memref<LENGTHxf32>, memref<LENGTHxi32>, index, f64, f64) -> f64
      %after = arith.addf %sum, %weight : f64
      scf.yield %after : f64
    }
    %number = arith.index_cast %round : index to i64
    %u = func.call @scalar.selection_uniform(%seed, %turn, %number) : (i64, i64, i64) -> f64
    %target = arith.mulf %u, %total : f64
    // The first whose sum with those before exceeds the target; if rounding
    // leaves none, the last that is left.
    %found:3 = scf.for %i = %first to %end step %step
        iter_args(%sum = %none, %own = %first, %stays = %off) -> (f64, index, i32) {
      %weight = func.call @scalar.importance_weight(%importance, %mask, %i, %known#1, %divisor) : (memref<LENGTHxf32>, memref<LENGTHxi32>, index, f64, f64) -> f64
      %after = arith.addf %sum, %weight : f64
      %taken = memref.load %mask[%i] : memref<LENGTHxi32>
      %is_left = arith.cmpi eq, %taken, %off : i32
      %searches = arith.cmpi eq, %stays, %off : i32
      %moves = arith.andi %is_left, %searches : i1
      %next = arith.select %moves, %i, %own : index
      %exceeds = arith.cmpf ogt, %after, %target : f64
      %ends = arith.andi %moves, %exceeds : i1
      %next_stays = arith.select %ends, %on, %stays : i32
      scf.yield %after, %next, %next_stays : f64, index, i32
    }
    memref.store %on, %mask[%found#1] : memref<LENGTHxi32>
  }
  return
}

// The weight, in the next draw, of a layer that is not taken yet.
func.func private @scalar.importance_weight(%importance: memref<LENGTHxf32>, %mask: memref<LENGTHxi32>, %i: index, %most: f64, %divisor: f64) -> f64 {
  %none = arith.constant 0.0 : f64
  %off = arith.constant 0 : i32
  %e = memref.load %importance[%i] : memref<LENGTHxf32>
  %wide = arith.extf %e : f32 to f64
  %difference = arith.subf %wide, %most : f64
  %x = arith.divf %difference, %divisor : f64
  %weight = func.call @scalar.exp_of_negative(%x) : (f64) -> f64
  %taken = memref.load %mask[%i] : memref<LENGTHxi32>
  %is_left = arith.cmpi eq, %taken, %off : i32
  %0 = arith.select %is_left, %weight, %none : f64
  return %0 : f64
}

// 1 for each layer before the first step, then its importance so far.
func.func private @scalar.importance_before(%before: memref<LENGTHxf32>, %completed: i64, %importance: memref<LENGTHxf32>) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1.0 : f32
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %begins = arith.cmpi eq, %completed, %zero : i64
  scf.for %i = %first to %end step %step {
    %old = memref.load %before[%i] : memref<LENGTHxf32>
    %own = arith.select %begins, %one, %old : f32
    memref.store %own, %importance[%i] : memref<LENGTHxf32>
  }
  return
}

// decay * importance + (1 - decay) * norm of those that are selected.
func.func private @scalar.importance_after(%before: memref<LENGTHxf32>, %mask: memref<LENGTHxi32>, %norms: memref<LENGTHxf64>, %decay: f64, %importance: memref<LENGTHxf32>) {
  %one = arith.constant 1.0 : f64
  %off = arith.constant 0 : i32
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %share = arith.subf %one, %decay : f64
  scf.for %i = %first to %end step %step {
    %old = memref.load %before[%i] : memref<LENGTHxf32>
    %wide = arith.extf %old : f32 to f64
    %norm = memref.load %norms[%i] : memref<LENGTHxf64>
    %kept = arith.mulf %decay, %wide : f64
    %added = arith.mulf %share, %norm : f64
    %sum = arith.addf %kept, %added : f64
    %narrow = arith.truncf %sum : f64 to f32
    %taken = memref.load %mask[%i] : memref<LENGTHxi32>
    %is_taken = arith.cmpi ne, %taken, %off : i32
    %new = arith.select %is_taken, %narrow, %old : f32
    memref.store %new, %importance[%i] : memref<LENGTHxf32>
  }
  return
}

// All that a mask of this length has, in a warm-up.
func.func private @scalar.selected_now(%mask: memref<LENGTHxi32>, %is_past: i64, %selected: memref<LENGTHxi32>) {
  %zero = arith.constant 0 : i64
  %on = arith.constant 1 : i32
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %warms = arith.cmpi eq, %is_past, %zero : i64
  scf.for %i = %first to %end step %step {
    %own = memref.load %mask[%i] : memref<LENGTHxi32>
    %number = arith.select %warms, %on, %own : i32
    memref.store %number, %selected[%i] : memref<LENGTHxi32>
  }
  return
}

// How many updates each layer has had, with this one; from none if `resets`.
func.func private @scalar.count_updates(%before: memref<LENGTHxf32>, %selected: memref<LENGTHxi32>, %resets: i64, %counts: memref<LENGTHxf32>) {
  %zero = arith.constant 0 : i64
  %none = arith.constant 0.0 : f32
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %begins = arith.cmpi ne, %resets, %zero : i64
  scf.for %i = %first to %end step %step {
    %old = memref.load %before[%i] : memref<LENGTHxf32>
    %start = arith.select %begins, %none, %old : f32
    %own = memref.load %selected[%i] : memref<LENGTHxi32>
    %more = arith.sitofp %own : i32 to f32
    %count = arith.addf %start, %more : f32
    memref.store %count, %counts[%i] : memref<LENGTHxf32>
  }
  return
}

// 1 - beta^count of each layer that had an update, else 1.
func.func private @scalar.bias_corrections(%beta: f64, %counts: memref<LENGTHxf32>, %corrections: memref<LENGTHxf64>) {
  %unit = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %one = arith.constant 1.0 : f64
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  scf.for %i = %first to %end step %step {
    %number = memref.load %counts[%i] : memref<LENGTHxf32>
    %count = arith.fptosi %number : f32 to i64
    %has = arith.cmpi sgt, %count, %zero : i64
    %some = arith.maxsi %count, %unit : i64
    %completed = arith.subi %some, %unit : i64
    %own = func.call @scalar.bias_correction(%beta, %completed) : (f64, i64) -> f64
    %correction = arith.select %has, %own, %one : f64
    memref.store %correction, %corrections[%i] : memref<LENGTHxf64>
  }
  return
}

// count^exponent of each layer that had an update, else 1.
func.func private @scalar.step_powers(%exponent: f64, %counts: memref<LENGTHxf32>, %powers: memref<LENGTHxf64>) {
  %unit = arith.constant 1 : i64
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  scf.for %i = %first to %end step %step {
    %number = memref.load %counts[%i] : memref<LENGTHxf32>
    %count = arith.fptosi %number : f32 to i64
    %some = arith.maxsi %count, %unit : i64
    %completed = arith.subi %some, %unit : i64
    %power = func.call @scalar.step_power(%exponent, %completed) : (f64, i64) -> f64
    memref.store %power, %powers[%i] : memref<LENGTHxf64>
  }
  return
}

// As many steps later a selection held for `period` steps begins, so that the
// first one after a warm-up is held as long as all others.
func.func private @scalar.turn_delay(%period: i64, %warmup: i64) -> i64 {
  %rest = arith.remui %warmup, %period : i64
  %left = arith.subi %period, %rest : i64
  %0 = arith.remui %left, %period : i64
  return %0 : i64
}

// Which selection since the first step, if each is held for `period` steps.
func.func private @scalar.turn(%completed: i64, %period: i64, %warmup: i64) -> i64 {
  %delay = func.call @scalar.turn_delay(%period, %warmup) : (i64, i64) -> i64
  %step = arith.addi %completed, %delay : i64
  %0 = arith.divui %step, %period : i64
  return %0 : i64
}

// Whether a step begins a selection; a warm-up begins none.
func.func private @scalar.begins_turn(%completed: i64, %period: i64, %warmup: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %delay = func.call @scalar.turn_delay(%period, %warmup) : (i64, i64) -> i64
  %step = arith.addi %completed, %delay : i64
  %rest = arith.remui %step, %period : i64
  %is_first = arith.cmpi eq, %rest, %zero : i64
  %is_past = arith.cmpi uge, %completed, %warmup : i64
  %both = arith.andi %is_first, %is_past : i1
  %0 = arith.extui %both : i1 to i64
  return %0 : i64
}

// The number of each layer that a step selects, and -1 of the others.
func.func private @scalar.selected_layers(%mask: memref<LENGTHxi32>, %numbers: memref<LENGTHxf64>, %layers: memref<LENGTHxf32>) {
  %off = arith.constant 0 : i32
  %none = arith.constant -1.0 : f64
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  scf.for %i = %first to %end step %step {
    %number = memref.load %numbers[%i] : memref<LENGTHxf64>
    %own = memref.load %mask[%i] : memref<LENGTHxi32>
    %is_taken = arith.cmpi ne, %own, %off : i32
    %layer = arith.select %is_taken, %number, %none : f64
    %narrow = arith.truncf %layer : f64 to f32
    memref.store %narrow, %layers[%i] : memref<LENGTHxf32>
  }
  return
}

// Whether a layer, or one before it, is selected: only then is there something
// below it that reads a cotangent.
func.func private @scalar.reaches(%mask: memref<LENGTHxi32>, %reaches: memref<LENGTHxi32>) {
  %off = arith.constant 0 : i32
  %on = arith.constant 1 : i32
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %last = scf.for %i = %first to %end step %step iter_args(%before = %off) -> i32 {
    %own = memref.load %mask[%i] : memref<LENGTHxi32>
    %is_taken = arith.cmpi ne, %own, %off : i32
    %after = arith.select %is_taken, %on, %before : i32
    memref.store %after, %reaches[%i] : memref<LENGTHxi32>
    scf.yield %after : i32
  }
  return
}

// Whether no cotangent has to go through a layer apart from its own backward:
// it is selected, or nothing below reads one.
func.func private @scalar.skips(%mask: memref<LENGTHxi32>, %reaches: memref<LENGTHxi32>, %skips: memref<LENGTHxi32>) {
  %on = arith.constant 1 : i32
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  scf.for %i = %first to %end step %step {
    %own = memref.load %mask[%i] : memref<LENGTHxi32>
    %reach = memref.load %reaches[%i] : memref<LENGTHxi32>
    %ends = arith.subi %on, %reach : i32
    %either = arith.ori %own, %ends : i32
    memref.store %either, %skips[%i] : memref<LENGTHxi32>
  }
  return
}

// How much of the steps after the warm-up is over, from 0 to 1.
func.func private @scalar.selection_progress(%warmup: i64, %steps: i64, %completed: i64) -> f64 {
  %zero = arith.constant 0 : i64
  %unit = arith.constant 1 : i64
  %done = arith.subi %completed, %warmup : i64
  %positive = arith.maxsi %done, %zero : i64
  %after = arith.subi %steps, %warmup : i64
  %last = arith.subi %after, %unit : i64
  %length = arith.maxsi %last, %unit : i64
  %least = arith.minsi %positive, %length : i64
  %least_f = arith.sitofp %least : i64 to f64
  %length_f = arith.sitofp %length : i64 to f64
  %0 = arith.divf %least_f, %length_f : f64
  return %0 : f64
}

// The first ratio in the first half of these steps, the last one in the second.
func.func private @scalar.ratio_step(%begin: f64, %end: f64, %warmup: i64, %steps: i64, %completed: i64) -> f64 {
  %half = arith.constant 0.5 : f64
  %progress = func.call @scalar.selection_progress(%warmup, %steps, %completed) : (i64, i64, i64) -> f64
  %is_first = arith.cmpf olt, %progress, %half : f64
  %0 = arith.select %is_first, %begin, %end : f64
  return %0 : f64
}

func.func private @scalar.ratio_linear(%begin: f64, %end: f64, %warmup: i64, %steps: i64, %completed: i64) -> f64 {
  %one = arith.constant 1.0 : f64
  %progress = func.call @scalar.selection_progress(%warmup, %steps, %completed) : (i64, i64, i64) -> f64
  %left = arith.subf %one, %progress : f64
  %from_first = arith.mulf %begin, %left : f64
  %from_last = arith.mulf %end, %progress : f64
  %0 = arith.addf %from_first, %from_last : f64
  return %0 : f64
}

// Half a wave from the first ratio to the last.
func.func private @scalar.ratio_cosine(%begin: f64, %end: f64, %warmup: i64, %steps: i64, %completed: i64) -> f64 {
  %one = arith.constant 1.0 : f64
  %half = arith.constant 0.5 : f64
  %progress = func.call @scalar.selection_progress(%warmup, %steps, %completed) : (i64, i64, i64) -> f64
  %cos = func.call @scalar.cos_pi(%progress) : (f64) -> f64
  %raised = arith.addf %one, %cos : f64
  %part = arith.mulf %half, %raised : f64
  %rest = arith.subf %one, %part : f64
  %from_first = arith.mulf %begin, %part : f64
  %from_last = arith.mulf %end, %rest : f64
  %0 = arith.addf %from_first, %from_last : f64
  return %0 : f64
}
