// Formulas of a step on a few numbers. LENGTH is that of the vectors of the call
// that asks for one; each ends in a } at the beginning of a line.

func.func private @scalar.zero() -> f64 {
  %zero = arith.constant 0.0 : f64
  return %zero : f64
}

func.func private @scalar.add(%a: f64, %b: f64) -> f64 {
  %0 = arith.addf %a, %b : f64
  return %0 : f64
}

func.func private @scalar.multiply(%a: f64, %b: f64) -> f64 {
  %0 = arith.mulf %a, %b : f64
  return %0 : f64
}

func.func private @scalar.divide(%a: f64, %b: f64) -> f64 {
  %0 = arith.divf %a, %b : f64
  return %0 : f64
}

// 1 / x, or 0 for 0: a batch without targets has no loss.
func.func private @scalar.inverse(%x: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %has = arith.cmpf ogt, %x, %zero : f64
  %0 = arith.divf %one, %x : f64
  %1 = arith.select %has, %0, %zero : f64
  return %1 : f64
}

// As torch.nn.utils.clip_grad_norm_: min(1, most / (norm + 1e-6)); no clipping
// for most = 0.
func.func private @scalar.clip(%norm: f64, %most: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %small = arith.constant 1.0e-6 : f64
  %sum = arith.addf %norm, %small : f64
  %ratio = arith.divf %most, %sum : f64
  %is_less = arith.cmpf olt, %ratio, %one : f64
  %least = arith.select %is_less, %ratio, %one : f64
  %clips = arith.cmpf ogt, %most, %zero : f64
  %0 = arith.select %clips, %least, %one : f64
  return %0 : f64
}

func.func private @scalar.false() -> i64 {
  %false = arith.constant 0 : i64
  return %false : i64
}

// A carried number, for items of later stages.
func.func private @scalar.same(%a: i64) -> i64 {
  return %a : i64
}

func.func private @scalar.true() -> i64 {
  %true = arith.constant 1 : i64
  return %true : i64
}

func.func private @scalar.one() -> f64 {
  %one = arith.constant 1.0 : f64
  return %one : f64
}

// 1 - beta^(completed + 1), the power by squaring.
func.func private @scalar.bias_correction(%beta: f64, %completed: i64) -> f64 {
  %zero = arith.constant 0 : i64
  %unit = arith.constant 1 : i64
  %one = arith.constant 1.0 : f64
  %exponent = arith.addi %completed, %unit : i64
  %end:3 = scf.while (%result = %one, %base = %beta, %n = %exponent)
      : (f64, f64, i64) -> (f64, f64, i64) {
    %more = arith.cmpi ne, %n, %zero : i64
    scf.condition(%more) %result, %base, %n : f64, f64, i64
  } do {
  ^bb0(%result: f64, %base: f64, %n: i64):
    %bit = arith.andi %n, %unit : i64
    %is_odd = arith.cmpi ne, %bit, %zero : i64
    %times = arith.mulf %result, %base : f64
    %next = arith.select %is_odd, %times, %result : f64
    %square = arith.mulf %base, %base : f64
    %half = arith.shrui %n, %unit : i64
    scf.yield %next, %square, %half : f64, f64, i64
  }
  %0 = arith.subf %one, %end#0 : f64
  return %0 : f64
}

// exponent-th power of (completed + 1), for a power from -1 to 0: the exponential
// of a logarithm (runtime/src/base/PortableMath.h has the same formulas).
func.func private @scalar.step_power(%exponent: f64, %completed: i64) -> f64 {
  %unit = arith.constant 1 : i64
  %one = arith.constant 1.0 : f64
  %two = arith.constant 2.0 : f64
  %half = arith.constant 0.5 : f64
  %high = arith.constant 6.93147180369123816490e-01 : f64
  %low = arith.constant 1.90821492927058770002e-10 : f64
  %step = arith.addi %completed, %unit : i64
  %x = arith.sitofp %step : i64 to f64
  %bits = arith.bitcast %x : f64 to i64
  %width = arith.constant 52 : i64
  %bias = arith.constant 1023 : i64
  %fraction = arith.constant 4503599627370495 : i64
  %of_one = arith.bitcast %one : f64 to i64
  %biased = arith.shrui %bits, %width : i64
  %e0 = arith.subi %biased, %bias : i64
  %kept = arith.andi %bits, %fraction : i64
  %m_bits = arith.ori %kept, %of_one : i64
  %m0 = arith.bitcast %m_bits : i64 to f64
  %root = arith.constant 1.41421356237309514547 : f64
  %is_large = arith.cmpf ogt, %m0, %root : f64
  %m1 = arith.mulf %m0, %half : f64
  %m = arith.select %is_large, %m1, %m0 : f64
  %e1 = arith.addi %e0, %unit : i64
  %e = arith.select %is_large, %e1, %e0 : i64
  %f = arith.subf %m, %one : f64
  %over = arith.addf %two, %f : f64
  %s = arith.divf %f, %over : f64
  %z = arith.mulf %s, %s : f64
  %p10 = arith.constant 0.0869565217391304347826086956521739 : f64
  %l9 = arith.constant 0.0952380952380952380952380952380952 : f64
  %q9 = arith.mulf %p10, %z : f64
  %p9 = arith.addf %q9, %l9 : f64
  %l8 = arith.constant 0.105263157894736842105263157894737 : f64
  %q8 = arith.mulf %p9, %z : f64
  %p8 = arith.addf %q8, %l8 : f64
  %l7 = arith.constant 0.117647058823529411764705882352941 : f64
  %q7 = arith.mulf %p8, %z : f64
  %p7 = arith.addf %q7, %l7 : f64
  %l6 = arith.constant 0.133333333333333333333333333333333 : f64
  %q6 = arith.mulf %p7, %z : f64
  %p6 = arith.addf %q6, %l6 : f64
  %l5 = arith.constant 0.153846153846153846153846153846154 : f64
  %q5 = arith.mulf %p6, %z : f64
  %p5 = arith.addf %q5, %l5 : f64
  %l4 = arith.constant 0.181818181818181818181818181818182 : f64
  %q4 = arith.mulf %p5, %z : f64
  %p4 = arith.addf %q4, %l4 : f64
  %l3 = arith.constant 0.222222222222222222222222222222222 : f64
  %q3 = arith.mulf %p4, %z : f64
  %p3 = arith.addf %q3, %l3 : f64
  %l2 = arith.constant 0.285714285714285714285714285714286 : f64
  %q2 = arith.mulf %p3, %z : f64
  %p2 = arith.addf %q2, %l2 : f64
  %l1 = arith.constant 0.4 : f64
  %q1 = arith.mulf %p2, %z : f64
  %p1 = arith.addf %q1, %l1 : f64
  %l0 = arith.constant 0.666666666666666666666666666666667 : f64
  %q0 = arith.mulf %p1, %z : f64
  %p0 = arith.addf %q0, %l0 : f64
  %zp = arith.mulf %z, %p0 : f64
  %fzp = arith.subf %f, %zp : f64
  %rest = arith.mulf %s, %fzp : f64
  %e_f = arith.sitofp %e : i64 to f64
  %e_low = arith.mulf %e_f, %low : f64
  %low_part = arith.subf %e_low, %rest : f64
  %e_high = arith.mulf %e_f, %high : f64
  %f_low = arith.addf %f, %low_part : f64
  %log = arith.addf %e_high, %f_low : f64
  %y = arith.mulf %exponent, %log : f64
  %per_two = arith.constant 1.44269504088896338700e+00 : f64
  %y_two = arith.mulf %y, %per_two : f64
  %near = arith.addf %y_two, %half : f64
  %cut = arith.fptosi %near : f64 to i64
  %cut_f = arith.sitofp %cut : i64 to f64
  %is_above = arith.cmpf ogt, %cut_f, %near : f64
  %less = arith.subi %cut, %unit : i64
  %n = arith.select %is_above, %less, %cut : i64
  %n_f = arith.sitofp %n : i64 to f64
  %n_high = arith.mulf %n_f, %high : f64
  %r0 = arith.subf %y, %n_high : f64
  %n_low = arith.mulf %n_f, %low : f64
  %r = arith.subf %r0, %n_low : f64
  %x13 = arith.constant 1.60590438368216145993923771701549e-10 : f64
  %c12 = arith.constant 2.08767569878680989792100903212014e-9 : f64
  %y12 = arith.mulf %x13, %r : f64
  %x12 = arith.addf %y12, %c12 : f64
  %c11 = arith.constant 2.50521083854417187750521083854417e-8 : f64
  %y11 = arith.mulf %x12, %r : f64
  %x11 = arith.addf %y11, %c11 : f64
  %c10 = arith.constant 2.75573192239858906525573192239859e-7 : f64
  %y10 = arith.mulf %x11, %r : f64
  %x10 = arith.addf %y10, %c10 : f64
  %c9 = arith.constant 0.00000275573192239858906525573192239859 : f64
  %y9 = arith.mulf %x10, %r : f64
  %x9 = arith.addf %y9, %c9 : f64
  %c8 = arith.constant 0.0000248015873015873015873015873015873 : f64
  %y8 = arith.mulf %x9, %r : f64
  %x8 = arith.addf %y8, %c8 : f64
  %c7 = arith.constant 0.000198412698412698412698412698412698 : f64
  %y7 = arith.mulf %x8, %r : f64
  %x7 = arith.addf %y7, %c7 : f64
  %c6 = arith.constant 0.00138888888888888888888888888888889 : f64
  %y6 = arith.mulf %x7, %r : f64
  %x6 = arith.addf %y6, %c6 : f64
  %c5 = arith.constant 0.00833333333333333333333333333333333 : f64
  %y5 = arith.mulf %x6, %r : f64
  %x5 = arith.addf %y5, %c5 : f64
  %c4 = arith.constant 0.0416666666666666666666666666666667 : f64
  %y4 = arith.mulf %x5, %r : f64
  %x4 = arith.addf %y4, %c4 : f64
  %c3 = arith.constant 0.166666666666666666666666666666667 : f64
  %y3 = arith.mulf %x4, %r : f64
  %x3 = arith.addf %y3, %c3 : f64
  %c2 = arith.constant 0.5 : f64
  %y2 = arith.mulf %x3, %r : f64
  %x2 = arith.addf %y2, %c2 : f64
  %c1 = arith.constant 1.0 : f64
  %y1 = arith.mulf %x2, %r : f64
  %x1 = arith.addf %y1, %c1 : f64
  %c0 = arith.constant 1.0 : f64
  %y0 = arith.mulf %x1, %r : f64
  %x0 = arith.addf %y0, %c0 : f64
  %scale_exponent = arith.addi %n, %bias : i64
  %scale_bits = arith.shli %scale_exponent, %width : i64
  %scale = arith.bitcast %scale_bits : i64 to f64
  %0 = arith.mulf %x0, %scale : f64
  return %0 : f64
}

// cos(pi y) for y >= 0 (test/reference/ScalarFormulas.h has the same formula).
func.func private @scalar.cos_pi(%y: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %quarter = arith.constant 0.25 : f64
  %half = arith.constant 0.5 : f64
  %one = arith.constant 1.0 : f64
  %two = arith.constant 2.0 : f64
  %pi = arith.constant 3.14159265358979323846 : f64
  %half_y = arith.mulf %y, %half : f64
  %pairs = arith.fptosi %half_y : f64 to i64
  %pairs_f = arith.sitofp %pairs : i64 to f64
  %whole = arith.mulf %pairs_f, %two : f64
  %turns = arith.subf %y, %whole : f64
  %back = arith.subf %two, %turns : f64
  %is_back = arith.cmpf ogt, %turns, %one : f64
  %folded = arith.select %is_back, %back, %turns : f64
  %rest = arith.subf %one, %folded : f64
  %is_left = arith.cmpf ogt, %folded, %half : f64
  %u = arith.select %is_left, %rest, %folded : f64
  %away = arith.subf %half, %u : f64
  %is_sine = arith.cmpf ogt, %u, %quarter : f64
  %v = arith.select %is_sine, %away, %u : f64
  %t = arith.mulf %pi, %v : f64
  %z = arith.mulf %t, %t : f64
  %c8 = arith.constant 4.77947733238738529743820749111754e-14 : f64
  %c7 = arith.constant -1.14707455977297247138516979786821e-11 : f64
  %c6 = arith.constant 2.08767569878680989792100903212014e-9 : f64
  %c5 = arith.constant -2.75573192239858906525573192239859e-7 : f64
  %c4 = arith.constant 2.48015873015873015873015873015873e-5 : f64
  %c3 = arith.constant -1.38888888888888888888888888888889e-3 : f64
  %c2 = arith.constant 4.16666666666666666666666666666667e-2 : f64
  %c1 = arith.constant -0.5 : f64
  %a8 = arith.mulf %z, %c8 : f64
  %a7 = arith.addf %a8, %c7 : f64
  %b7 = arith.mulf %z, %a7 : f64
  %a6 = arith.addf %b7, %c6 : f64
  %b6 = arith.mulf %z, %a6 : f64
  %a5 = arith.addf %b6, %c5 : f64
  %b5 = arith.mulf %z, %a5 : f64
  %a4 = arith.addf %b5, %c4 : f64
  %b4 = arith.mulf %z, %a4 : f64
  %a3 = arith.addf %b4, %c3 : f64
  %b3 = arith.mulf %z, %a3 : f64
  %a2 = arith.addf %b3, %c2 : f64
  %b2 = arith.mulf %z, %a2 : f64
  %a1 = arith.addf %b2, %c1 : f64
  %b1 = arith.mulf %z, %a1 : f64
  %cosine = arith.addf %b1, %one : f64
  %s8 = arith.constant 2.81145725434552076319894558301032e-15 : f64
  %s7 = arith.constant -7.64716373181981647590113198578807e-13 : f64
  %s6 = arith.constant 1.60590438368216145993923771701549e-10 : f64
  %s5 = arith.constant -2.50521083854417187750521083854417e-8 : f64
  %s4 = arith.constant 2.75573192239858906525573192239859e-6 : f64
  %s3 = arith.constant -1.98412698412698412698412698412698e-4 : f64
  %s2 = arith.constant 8.33333333333333333333333333333333e-3 : f64
  %s1 = arith.constant -1.66666666666666666666666666666667e-1 : f64
  %d8 = arith.mulf %z, %s8 : f64
  %e7 = arith.addf %d8, %s7 : f64
  %d7 = arith.mulf %z, %e7 : f64
  %e6 = arith.addf %d7, %s6 : f64
  %d6 = arith.mulf %z, %e6 : f64
  %e5 = arith.addf %d6, %s5 : f64
  %d5 = arith.mulf %z, %e5 : f64
  %e4 = arith.addf %d5, %s4 : f64
  %d4 = arith.mulf %z, %e4 : f64
  %e3 = arith.addf %d4, %s3 : f64
  %d3 = arith.mulf %z, %e3 : f64
  %e2 = arith.addf %d3, %s2 : f64
  %d2 = arith.mulf %z, %e2 : f64
  %e1 = arith.addf %d2, %s1 : f64
  %d1 = arith.mulf %z, %e1 : f64
  %rest_of_sine = arith.mulf %t, %d1 : f64
  %sine = arith.addf %t, %rest_of_sine : f64
  %size = arith.select %is_sine, %sine, %cosine : f64
  %negative = arith.negf %size : f64
  %0 = arith.select %is_left, %negative, %size : f64
  return %0 : f64
}

// transformers/optimization.py, in its order: warm-up, then constant (0), linear
// (1) or half a cosine (2), as hone_lr_scheduler counts them.
func.func private @scalar.learning_rate(%peak: f64, %scheduler: i64, %warmup: i64, %steps: i64, %completed: i64) -> f64 {
  %zero = arith.constant 0 : i64
  %unit = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %none = arith.constant 0.0 : f64
  %half = arith.constant 0.5 : f64
  %one = arith.constant 1.0 : f64
  %least = arith.maxsi %warmup, %unit : i64
  %least_f = arith.sitofp %least : i64 to f64
  %completed_f = arith.sitofp %completed : i64 to f64
  %warm_part = arith.divf %completed_f, %least_f : f64
  %after = arith.subi %steps, %warmup : i64
  %decay = arith.maxsi %after, %unit : i64
  %decay_f = arith.sitofp %decay : i64 to f64
  %left = arith.subi %steps, %completed : i64
  %left_or_none = arith.maxsi %left, %zero : i64
  %left_f = arith.sitofp %left_or_none : i64 to f64
  %linear = arith.divf %left_f, %decay_f : f64
  %done = arith.subi %completed, %warmup : i64
  %done_f = arith.sitofp %done : i64 to f64
  %progress = arith.divf %done_f, %decay_f : f64
  %is_past = arith.cmpf olt, %progress, %none : f64
  %positive = arith.select %is_past, %none, %progress : f64
  %cos = func.call @scalar.cos_pi(%positive) : (f64) -> f64
  %raised = arith.addf %one, %cos : f64
  %wave = arith.mulf %half, %raised : f64
  %is_positive = arith.cmpf ogt, %wave, %none : f64
  %cosine = arith.select %is_positive, %wave, %none : f64
  %is_linear = arith.cmpi eq, %scheduler, %unit : i64
  %is_cosine = arith.cmpi eq, %scheduler, %two : i64
  %0 = arith.select %is_linear, %linear, %one : f64
  %1 = arith.select %is_cosine, %cosine, %0 : f64
  %warms = arith.cmpi slt, %completed, %warmup : i64
  %2 = arith.select %warms, %warm_part, %1 : f64
  %3 = arith.mulf %peak, %2 : f64
  return %3 : f64
}

// The key of a step's random streams, after `completed` updates: seed and step,
// each as its low and high half.
func.func private @scalar.step_key(%seed: i64, %completed: i64, %key: memref<4xi32>) {
  %wide = arith.constant 32 : i64
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %i3 = arith.constant 3 : index
  %low_seed = arith.trunci %seed : i64 to i32
  %seed_shifted = arith.shrui %seed, %wide : i64
  %high_seed = arith.trunci %seed_shifted : i64 to i32
  %low_step = arith.trunci %completed : i64 to i32
  %step_shifted = arith.shrui %completed, %wide : i64
  %high_step = arith.trunci %step_shifted : i64 to i32
  memref.store %low_seed, %key[%i0] : memref<4xi32>
  memref.store %high_seed, %key[%i1] : memref<4xi32>
  memref.store %low_step, %key[%i2] : memref<4xi32>
  memref.store %high_step, %key[%i3] : memref<4xi32>
  return
}

// The same for one of a step's directions, whose number is in the upper 11 bits.
func.func private @scalar.direction_key(%seed: i64, %completed: i64, %direction: i64, %key: memref<4xi32>) {
  %shift = arith.constant 53 : i64
  %upper = arith.shli %direction, %shift : i64
  %step = arith.ori %completed, %upper : i64
  func.call @scalar.step_key(%seed, %step, %key) : (i64, i64, memref<4xi32>) -> ()
  return
}

// The same for one of two probes along a direction.
func.func private @scalar.probe_key(%seed: i64, %completed: i64, %probe: i64, %key: memref<4xi32>) {
  %one = arith.constant 1 : i64
  %direction = arith.shrui %probe, %one : i64
  func.call @scalar.direction_key(%seed, %completed, %direction, %key) : (i64, i64, i64, memref<4xi32>) -> ()
  return
}

// The first of two probes goes forward, the second back.
func.func private @scalar.probe_shift(%epsilon: f64, %probe: i64) -> f64 {
  %one = arith.constant 1 : i64
  %bit = arith.trunci %probe : i64 to i1
  %back = arith.negf %epsilon : f64
  %0 = arith.select %bit, %back, %epsilon : f64
  return %0 : f64
}

func.func private @scalar.directions(%numbers: memref<LENGTHxf64>) -> i64 {
  %0 = arith.constant LENGTH : i64
  return %0 : i64
}

func.func private @scalar.twice(%n: i64) -> i64 {
  %0 = arith.addi %n, %n : i64
  return %0 : i64
}

func.func private @scalar.zeros(%vector: memref<LENGTHxf64>) {
  %zero = arith.constant 0.0 : f64
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  scf.for %i = %first to %end step %step {
    memref.store %zero, %vector[%i] : memref<LENGTHxf64>
  }
  return
}

func.func private @scalar.increment(%n: i64) -> i64 {
  %one = arith.constant 1 : i64
  %0 = arith.addi %n, %one : i64
  return %0 : i64
}

// `add_slope` of the loss forward less the loss back.
func.func private @scalar.add_difference(%differences: memref<LENGTHxf64>, %loss: f64, %probe: i64, %sums: memref<LENGTHxf64>) {
  %one = arith.constant 1 : i64
  %direction = arith.shrui %probe, %one : i64
  %signed = func.call @scalar.probe_shift(%loss, %probe) : (f64, i64) -> f64
  func.call @scalar.add_slope(%differences, %signed, %direction, %sums) : (memref<LENGTHxf64>, f64, i64, memref<LENGTHxf64>) -> ()
  return
}

// One-sided, the first trial is along no direction.
func.func private @scalar.one_sided_probe_key(%seed: i64, %completed: i64, %trial: i64, %key: memref<4xi32>) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %before = arith.subi %trial, %one : i64
  %direction = arith.maxsi %before, %zero : i64
  func.call @scalar.direction_key(%seed, %completed, %direction, %key) : (i64, i64, i64, memref<4xi32>) -> ()
  return
}

func.func private @scalar.one_sided_probe_shift(%epsilon: f64, %trial: i64) -> f64 {
  %zero = arith.constant 0 : i64
  %none = arith.constant 0.0 : f64
  %is_base = arith.cmpi eq, %trial, %zero : i64
  %0 = arith.select %is_base, %none, %epsilon : f64
  return %0 : f64
}

// The base is taken from all directions.
func.func private @scalar.one_sided_add_difference(%differences: memref<LENGTHxf64>, %loss: f64, %trial: i64, %sums: memref<LENGTHxf64>) {
  %zero = arith.constant 0 : i64
  %is_base = arith.cmpi eq, %trial, %zero : i64
  %back = arith.negf %loss : f64
  %signed = arith.select %is_base, %back, %loss : f64
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %next = arith.index_cast %trial : i64 to index
  scf.for %i = %first to %end step %step {
    %before = memref.load %differences[%i] : memref<LENGTHxf64>
    %sum = arith.addf %before, %signed : f64
    %number = arith.addi %i, %step : index
    %is_own = arith.cmpi eq, %number, %next : index
    %is_there = arith.ori %is_own, %is_base : i1
    %after = arith.select %is_there, %sum, %before : f64
    memref.store %after, %sums[%i] : memref<LENGTHxf64>
  }
  return
}

// The slopes of all directions, with `slope` added to one of them.
func.func private @scalar.add_slope(%slopes: memref<LENGTHxf64>, %slope: f64, %direction: i64, %sums: memref<LENGTHxf64>) {
  %at = arith.index_cast %direction : i64 to index
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  scf.for %i = %first to %end step %step {
    %before = memref.load %slopes[%i] : memref<LENGTHxf64>
    %sum = arith.addf %before, %slope : f64
    %is_there = arith.cmpi eq, %i, %at : index
    %after = arith.select %is_there, %sum, %before : f64
    memref.store %after, %sums[%i] : memref<LENGTHxf64>
  }
  return
}

// A sum of differences along each of n directions, over the distance and n:
// slopes whose mean is the estimate, in f32, as logs hold them. `weight` makes
// a sum over tokens a mean.
func.func private @scalar.slopes(%differences: memref<LENGTHxf64>, %weight: f64, %distance: f64, %coefficients: memref<LENGTHxf32>) {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %wide = arith.index_cast %end : index to i64
  %count = arith.sitofp %wide : i64 to f64
  %all = arith.mulf %distance, %count : f64
  scf.for %i = %first to %end step %step {
    %difference = memref.load %differences[%i] : memref<LENGTHxf64>
    %mean = arith.mulf %difference, %weight : f64
    %slope = arith.divf %mean, %all : f64
    %coefficient = arith.truncf %slope : f64 to f32
    memref.store %coefficient, %coefficients[%i] : memref<LENGTHxf32>
  }
  return
}

// A mean over tokens and trials, of a sum over both.
func.func private @scalar.mean_of_trials(%sum: f64, %weight: f64, %trials: i64) -> f64 {
  %count = arith.sitofp %trials : i64 to f64
  %mean = arith.mulf %sum, %weight : f64
  %0 = arith.divf %mean, %count : f64
  return %0 : f64
}

// How much of the steps in which scales rise is over, from 0 to 1.
func.func private @scalar.rise(%completed: i64, %steps: i64) -> f64 {
  %unit = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %one = arith.constant 1.0 : f64
  %some = arith.maxsi %steps, %unit : i64
  %least = arith.minsi %completed, %some : i64
  %done_f = arith.sitofp %least : i64 to f64
  %steps_f = arith.sitofp %some : i64 to f64
  %part = arith.divf %done_f, %steps_f : f64
  %rises = arith.cmpi ne, %steps, %zero : i64
  %0 = arith.select %rises, %part, %one : f64
  return %0 : f64
}

// Scales that rise have come so far; the others stay as they are.
func.func private @scalar.risen_scales(%scales: memref<LENGTHxf64>, %rises: memref<LENGTHxf64>, %part: f64, %risen: memref<LENGTHxf64>) {
  %none = arith.constant 0.0 : f64
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  scf.for %i = %first to %end step %step {
    %scale = memref.load %scales[%i] : memref<LENGTHxf64>
    %flag = memref.load %rises[%i] : memref<LENGTHxf64>
    %is_rising = arith.cmpf ogt, %flag, %none : f64
    %some = arith.mulf %scale, %part : f64
    %own = arith.select %is_rising, %some, %scale : f64
    memref.store %own, %risen[%i] : memref<LENGTHxf64>
  }
  return
}

// The largest magnitude; infinite or no number if one of them is.
func.func private @scalar.largest(%vector: memref<LENGTHxf32>) -> f64 {
  %none = arith.constant 0.0 : f64
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %largest = scf.for %i = %first to %end step %step iter_args(%before = %none) -> f64 {
    %element = memref.load %vector[%i] : memref<LENGTHxf32>
    %wide = arith.extf %element : f32 to f64
    %back = arith.negf %wide : f64
    %magnitude = arith.maximumf %wide, %back : f64
    %after = arith.maximumf %before, %magnitude : f64
    scf.yield %after : f64
  }
  return %largest : f64
}

// The length of a vector, from the sums of the squares of its parts, in order.
func.func private @scalar.norm(%squares: memref<LENGTHxf64>) -> f64 {
  %none = arith.constant 0.0 : f64
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant LENGTH : index
  %sum = scf.for %i = %first to %end step %step iter_args(%before = %none) -> f64 {
    %square = memref.load %squares[%i] : memref<LENGTHxf64>
    %after = arith.addf %before, %square : f64
    scf.yield %after : f64
  }
  %0 = math.sqrt %sum : f64
  return %0 : f64
}

// The one number of a vector, and a vector of one number.
func.func private @scalar.widened(%vector: memref<LENGTHxf32>) -> f64 {
  %first = arith.constant 0 : index
  %number = memref.load %vector[%first] : memref<LENGTHxf32>
  %0 = arith.extf %number : f32 to f64
  return %0 : f64
}

func.func private @scalar.rounded(%number: f64, %vector: memref<LENGTHxf32>) {
  %first = arith.constant 0 : index
  %0 = arith.truncf %number : f64 to f32
  memref.store %0, %vector[%first] : memref<LENGTHxf32>
  return
}

// How many updates there were `late` steps ago; none before the first.
func.func private @scalar.earlier(%completed: i64, %late: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %then = arith.subi %completed, %late : i64
  %0 = arith.maxsi %then, %zero : i64
  return %0 : i64
}

// Whether the step `late` steps ago was one of the run's `steps`.
func.func private @scalar.was_step(%completed: i64, %late: i64, %steps: i64) -> i64 {
  %then = arith.subi %completed, %late : i64
  %has_begun = arith.cmpi sge, %completed, %late : i64
  %is_before_end = arith.cmpi slt, %then, %steps : i64
  %was = arith.andi %has_begun, %is_before_end : i1
  %0 = arith.extui %was : i1 to i64
  return %0 : i64
}
