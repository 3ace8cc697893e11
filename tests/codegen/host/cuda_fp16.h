#pragma once
/// Replaces the CUDA header of the same name on the host: the type f16 and its conversions.

#include "dsl/expr/numbers.h"

struct __half {
  nestsmith::F16 value;
};
inline __half __float2half_rn(float x) { return {nestsmith::round_to<nestsmith::F16>(x)}; }
inline float __half2float(__half x) { return nestsmith::to_float(x.value); }
