// The next panel of argument 1 is prefetched while tiles of the current one
// run: 4 tiles share its 32 floats a step, so 8 floats a step.
// RUN: tlm-opt %s --tlm-prefetch-panels --split-input-file | FileCheck %s

// CHECK-DAG: #[[START:.*]] = affine_map<(d0, d1, d2, d3) -> (d0 * 2048 + d1 * 16 + d2 + (d3 floordiv 8) * 512 + 2048, 15872)>
// CHECK-DAG: #[[STEP:.*]] = affine_map<(d0, d1) -> (d0 + d1 * 8)>
// CHECK-LABEL: func.func @panels
// CHECK-SAME: (%[[A:.*]]: memref<2048xf32>, %[[W:.*]]: memref<16384xf32>, %{{.*}}: memref<8192xf32>)
// CHECK: scf.for %[[F:.*]] = %c0 to %c8
// CHECK: scf.for %[[T:.*]] = %c0 to %c32
// CHECK: %[[FIRST:.*]] = affine.min #[[START]](%[[F]], %c0, %c0, %[[T]])
// CHECK: scf.for %[[K:.*]] = %c0 to %c64
// CHECK: %[[AT:.*]] = affine.apply #[[STEP]](%[[FIRST]], %[[K]])
// CHECK-NEXT: memref.prefetch %[[W]][%[[AT]]], read, locality<2>, data
// CHECK-NEXT: scf.yield
func.func @panels(%a: memref<2048xf32>, %w: memref<16384xf32>, %o: memref<8192xf32>) attributes {stream_argument = 1} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %view = memref.reinterpret_cast %w to offset: [0], sizes: [8, 64, 2, 16], strides: [2048, 32, 16, 1] : memref<16384xf32> to memref<8x64x2x16xf32, strided<[2048, 32, 16, 1]>>
  scf.for %f = %c0 to %c8 step %c1 {
    scf.for %t = %c0 to %c32 step %c8 {
      %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%s = %zero) -> (vector<16xf32>) {
        %x = vector.load %view[%f, %k, %c0, %c0] : memref<8x64x2x16xf32, strided<[2048, 32, 16, 1]>>, vector<16xf32>
        %n = arith.addf %s, %x : vector<16xf32>
        scf.yield %n : vector<16xf32>
      }
      vector.store %sum, %o[%t] : memref<8192xf32>, vector<16xf32>
    }
  }
  return
}

// -----

// One pass over each panel: memory has no idle time to fill.
// CHECK-LABEL: func.func @once
// CHECK-NOT: memref.prefetch
func.func @once(%a: memref<2048xf32>, %w: memref<16384xf32>, %o: memref<8192xf32>) attributes {stream_argument = 1} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %view = memref.reinterpret_cast %w to offset: [0], sizes: [8, 64, 2, 16], strides: [2048, 32, 16, 1] : memref<16384xf32> to memref<8x64x2x16xf32, strided<[2048, 32, 16, 1]>>
  scf.for %f = %c0 to %c8 step %c1 {
    %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%s = %zero) -> (vector<16xf32>) {
      %x = vector.load %view[%f, %k, %c0, %c0] : memref<8x64x2x16xf32, strided<[2048, 32, 16, 1]>>, vector<16xf32>
      %n = arith.addf %s, %x : vector<16xf32>
      scf.yield %n : vector<16xf32>
    }
    vector.store %sum, %o[%f] : memref<8192xf32>, vector<16xf32>
  }
  return
}

// -----

// A pass over a quarter of every panel: the next is a whole panel further on.
// CHECK: affine_map<(d0, d1, d2, d3, d4) -> (d0 + d1 * 2048 + d2 * 16 + d3 + (d4 floordiv 8) * 128 + 2048, 16256)>
// CHECK-LABEL: func.func @passes
// CHECK: memref.prefetch
func.func @passes(%a: memref<2048xf32>, %w: memref<16384xf32>, %o: memref<8192xf32>, %start: index) attributes {stream_argument = 1} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %view = memref.reinterpret_cast %w to offset: [%start], sizes: [8, 16, 2, 16], strides: [2048, 32, 16, 1] : memref<16384xf32> to memref<8x16x2x16xf32, strided<[2048, 32, 16, 1], offset: ?>>
  scf.for %f = %c0 to %c8 step %c1 {
    scf.for %t = %c0 to %c32 step %c8 {
      %sum = scf.for %k = %c0 to %c16 step %c1 iter_args(%s = %zero) -> (vector<16xf32>) {
        %x = vector.load %view[%f, %k, %c0, %c0] : memref<8x16x2x16xf32, strided<[2048, 32, 16, 1], offset: ?>>, vector<16xf32>
        %n = arith.addf %s, %x : vector<16xf32>
        scf.yield %n : vector<16xf32>
      }
      vector.store %sum, %o[%t] : memref<8192xf32>, vector<16xf32>
    }
  }
  return
}
