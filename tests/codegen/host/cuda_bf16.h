#pragma once
/// Replaces the CUDA header of the same name on the host: the type bf16 and its conversions.

#include "dsl/expr/numbers.h"

struct __nv_bfloat16 {
  nestsmith::BF16 value;
};
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return {nestsmith::round_to<nestsmith::BF16>(x)}; }
inline float __bfloat162float(__nv_bfloat16 x) { return nestsmith::to_float(x.value); }
