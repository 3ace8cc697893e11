#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// tensorize(k, "dot4"): replaces a nest by one call of an intrinsic (dsl/hardware/intrinsics.h).
///
///     for k < 4: C[i] = C[i] + A[k]*B[k]     =>     for k < 4 tensorized by dot4: C[i] = C[i] + A[k]*B[k]
///
/// k is the outermost loop of the nest. A program can register its own intrinsics. These exist:
///
/// - dot4, for operands of f32 and u32, and dp4a, for operands of i8 with sums in i32 and of u8 with sums in
///   u32: `for k < 4: c = c + a[k]*b[k]` in one thread. The meaning of dp4a contains the conversions:
///   C[i] + i32(A[k])*i32(B[k]).
/// - mma_m16n8k16 for f16 and bf16, mma_m16n8k8 for tf32, mma_m16n8k32 for i8 and u8: a product of 16 x K and
///   K x 8 elements in the registers of a warp.
/// - ldmatrix_a, ldmatrix_b and ldmatrix_b2: copies of 16 x 16, 16 x 8 and 16 x 16 elements of 16 bits from
///   shared memory to operands of mma_m16n8k16, contiguous along the last index; with the suffix _trans,
///   contiguous along the first index.
/// - stmatrix: a copy of 16 x 16 elements of 16 bits to shared memory, contiguous along the last index, from
///   registers with the layout of ldmatrix_a; stmatrix_trans: contiguous along the first index.
/// - wgmma_m64n64k16, wgmma_m64n128k16, wgmma_m64n192k16 and wgmma_m64n256k16 for f16 and bf16: a product of
///   64 x 16 and 16 x N elements, by four warps, of which each has 16 rows of the result in its registers. The
///   matrix units read both operands from tiles in shared memory: rows of 64 elements along k, with the layout
///   of swizzle(3, 3, 3). With the suffix _a_across, _b_across or both, the tile of this operand has 64 rows,
///   one for each k, and blocks of 64 columns: transform_layout("k, n -> n//64, k, n%64") before the swizzle.
///   The nest is the part of one warp: 16 x N x 16. The calls run on until a hazard needs them (`in_flight`).
/// - warp_sum, warp_product, warp_max and warp_min for f32, f64, i32 and u32: the sum (and so on) of 32
///   elements, one in each lane. Each lane gets the result.
///
/// All lanes of a warp execute one call of the last five groups. The operands in registers are buffers in the
/// scope `warp`, with a layout that maps each element to its lane and its register.
///
/// Requires [tensorize.serial]: k is a serial loop.
/// Requires [tensorize.known]: an intrinsic of this name is registered for the dtype of the block.
/// Requires [tensorize.arch]: the target supports the intrinsic.
/// Requires [tensorize.innermost]: there is one block below k. If the meaning has one loop, there is no other
///   loop with more than one iteration.
/// Requires [tensorize.extent]: the loops of the nest are serial and have the extents of the meaning.
/// Requires [tensorize.meaning]: the nest is the meaning of the intrinsic, up to the names and the order of
///   loops, with the same conversions and dtypes. Loops over which it sums keep their order.
/// Requires [tensorize.lanes]: if a whole warp executes the intrinsic, no loop around k is bound to lane or to
///   threadIdx.x.
/// Requires [tensorize.operands]: along k, operands in parameters are contiguous and aligned, and each guard
///   has the same value for all iterations. A whole warp executes a call or none of its lanes does.
/// Ensures: the sequential meaning is unchanged. Obligation: operands in shared memory are contiguous and
///   aligned, operands in fragments have the layout of the intrinsic, and tiles have that of the matrix units.
///   Warps that execute a call together are consecutive on the axis warp, from a multiple of their number on;
///   they read consecutive rows of the first tile, and the same rows of the other one (later directives can
///   still change all of these).
extern const Primitive tensorize;

} // namespace nestsmith::primitives
