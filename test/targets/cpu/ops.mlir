// RUN: hone-opt %s | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --emit-bytecode | hone-opt | FileCheck %s --enable-var-scope

// CHECK-LABEL: func @fill
func.func @fill(%p: memref<96x64xf32>, %w: memref<128x96xbf16>,
                %q: memref<128x48xi8>, %s: memref<128x3xf32>, %n: index) {
  // CHECK: cpu.fill %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] size(%{{.*}}, %{{.*}}) transpose : memref<96x64xf32>, memref<128x96xbf16>
  cpu.fill %p, %w[%n, %n] size(%n, %n) transpose
      : memref<96x64xf32>, memref<128x96xbf16>
  // CHECK: cpu.fill %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] size(%{{.*}}, %{{.*}}) transpose scales %[[S:.*]] biases %[[S]] bits 4 : memref<96x64xf32>, memref<128x48xi8>, memref<128x3xf32>, memref<128x3xf32>
  cpu.fill %p, %q[%n, %n] size(%n, %n) transpose scales %s biases %s bits 4
      : memref<96x64xf32>, memref<128x48xi8>, memref<128x3xf32>, memref<128x3xf32>
  return
}

// CHECK-LABEL: func @dots
func.func @dots(%s: memref<4x64xf32>, %a: memref<8x128xf32>,
                %w: memref<192x128xbf16>, %q: memref<192x64xi8>,
                %g: memref<192x4xf32>, %z: memref<1x144xf32>, %i: index) {
  // CHECK: cpu.dots %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}], %[[Z:[^ ]*]] : memref<4x64xf32>, memref<8x128xf32>, memref<192x128xbf16>, memref<1x144xf32>
  cpu.dots %s[%i], %a[%i, %i], %w[%i], %z
      : memref<4x64xf32>, memref<8x128xf32>, memref<192x128xbf16>, memref<1x144xf32>
  // CHECK: cpu.dots {{.*}}, %[[Z]] accumulate scales %[[G:.*]] biases %[[G]] bits 4 : {{.*}}, memref<192x64xi8>, memref<1x144xf32>, memref<192x4xf32>, memref<192x4xf32>
  cpu.dots %s[%i], %a[%i, %i], %q[%i], %z accumulate scales %g biases %g bits 4
      : memref<4x64xf32>, memref<8x128xf32>, memref<192x64xi8>, memref<1x144xf32>, memref<192x4xf32>, memref<192x4xf32>
  return
}

// CHECK-LABEL: func @contract
func.func @contract(%c: memref<8x64xf64>, %a: memref<8x32xf64>,
                    %p: memref<32x16xf64>, %c32: memref<8x64xf32>,
                    %a32: memref<8x32xf32>, %p16: memref<32x16xbf16>,
                    %m: index) {
  // CHECK: cpu.contract {{.*}} : memref<8x64xf32>, memref<8x32xf32>, memref<32x16xbf16>
  cpu.contract %c32[%m, %m], %a32[%m, %m], %p16 size(%m, %m, %m)
      : memref<8x64xf32>, memref<8x32xf32>, memref<32x16xbf16>
  // CHECK: cpu.contract {{.*}} ahead %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : {{.*}}, memref<8x32xf64>
  cpu.contract %c[%m, %m], %a[%m, %m], %p size(%m, %m, %m)
      ahead %a[%m, %m, %m, %m]
      : memref<8x64xf64>, memref<8x32xf64>, memref<32x16xf64>, memref<8x32xf64>
  // CHECK: cpu.contract %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} size(%{{.*}}, %{{.*}}, %{{.*}}) : memref<8x64xf64>, memref<8x32xf64>, memref<32x16xf64>
  cpu.contract %c[%m, %m], %a[%m, %m], %p size(%m, %m, %m)
      : memref<8x64xf64>, memref<8x32xf64>, memref<32x16xf64>
  // CHECK: cpu.contract {{.*}}, %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}, %{{.*}}] size(
  cpu.contract %c[%m, %m], %a[%m, %m], %p[%m, %m] size(%m, %m, %m)
      : memref<8x64xf64>, memref<8x32xf64>, memref<32x16xf64>
  // CHECK: cpu.contract {{.*}} from %{{.*}}[%{{.*}}, %{{.*}}] ahead {{.*}} from memref<8x64xf64>, memref<8x32xf64>
  cpu.contract %c[%m, %m], %a[%m, %m], %p size(%m, %m, %m) from %c[%m, %m]
      ahead %a[%m, %m, %m, %m]
      : memref<8x64xf64>, memref<8x32xf64>, memref<32x16xf64> from memref<8x64xf64>, memref<8x32xf64>
  // CHECK: accumulate transpose_a : {{.*}} epilogue (%[[ACC:.*]], %{{.*}}, %{{.*}}) {
  // CHECK: cpu.yield %[[ACC]] : f64
  cpu.contract %c[%m, %m], %a[%m, %m], %p size(%m, %m, %m)
      accumulate transpose_a
      : memref<8x64xf64>, memref<8x32xf64>, memref<32x16xf64>
      epilogue (%acc, %i, %j) {
    cpu.yield %acc : f64
  }
  // CHECK: cpu.contract %{{.*}} : memref<32x16xbf16>, memref<8x32xf32>, memref<32x16xbf16> epilogue (%[[SUM:.*]], %{{.*}}, %{{.*}}) {
  // CHECK: cpu.yield %[[SUM]] : f32
  cpu.contract %p16[%m, %m], %a32[%m, %m], %p16 size(%m, %m, %m)
      : memref<32x16xbf16>, memref<8x32xf32>, memref<32x16xbf16>
      epilogue (%sum, %i, %j) {
    cpu.yield %sum : f32
  }
  return
}
