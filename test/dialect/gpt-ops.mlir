// RUN: hone-opt %s | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --emit-bytecode | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s --enable-var-scope

// Ops of decoders before Llama are printed as they are written.

// CHECK-LABEL: hone.block @ops(
hone.block @ops(%x: tensor<?x8xf32>, %s: tensor<?xi32>, %n: tensor<?x2xf32>) {
  // CHECK: %[[W:.*]] = hone.parameter "w" transposed : tensor<8x8xf32>
  %w = hone.parameter "w" transposed : tensor<8x8xf32>
  // CHECK: %[[V:.*]] = hone.parameter "v" : tensor<8xf32>
  %v = hone.parameter "v" : tensor<8xf32>
  // CHECK: hone.activation gelu %{{.*}} : tensor<?x8xf32>
  %0 = hone.activation gelu %x : tensor<?x8xf32>
  // CHECK: hone.activation_adjoint relu %{{.*}}, %{{.*}} : tensor<?x8xf32>
  %1 = hone.activation_adjoint relu %x, %0 : tensor<?x8xf32>
  // CHECK: hone.layer_norm %{{.*}}, %[[V]], %[[V]] eps 1.000000e-05 : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x2xf32>)
  %2:2 = hone.layer_norm %x, %v, %v eps 1.0e-5 : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x2xf32>)
  // CHECK: hone.layer_norm_adjoint %{{.*}}, %{{.*}}, %[[V]] statistics %{{.*}} eps
  %3 = hone.layer_norm_adjoint %x, %x, %v statistics %n eps 1.0e-5 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>, tensor<?x2xf32>) -> tensor<?x8xf32>
  // CHECK: hone.layer_norm_parameter_adjoint %{{.*}}, %{{.*}} eps
  %4:2 = hone.layer_norm_parameter_adjoint %x, %x eps 1.0e-5 : (tensor<?x8xf32>, tensor<?x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  // CHECK: hone.layer_norm_tangent %{{.*}}, %[[V]] tx %{{.*}} tb %[[V]] eps
  %5 = hone.layer_norm_tangent %x, %v tx %x tb %v eps 1.0e-5 : (tensor<?x8xf32>, tensor<8xf32>, tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  // CHECK: hone.position_embedding %{{.*}}, %[[W]] offset 2 :
  %6 = hone.position_embedding %s, %w offset 2 : (tensor<?xi32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  // CHECK: hone.position_embedding_parameter_adjoint %{{.*}}, %{{.*}} offset 2 :
  %7 = hone.position_embedding_parameter_adjoint %x, %s offset 2 : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<9x8xf32>
  // CHECK: hone.columns %{{.*}} from 4 : tensor<?x8xf32> -> tensor<?x4xf32>
  %8 = hone.columns %x from 4 : tensor<?x8xf32> -> tensor<?x4xf32>
  // CHECK: hone.columns_adjoint %{{.*}} from 4 : tensor<?x4xf32> -> tensor<?x8xf32>
  %9 = hone.columns_adjoint %8 from 4 : tensor<?x4xf32> -> tensor<?x8xf32>
  hone.return
}
