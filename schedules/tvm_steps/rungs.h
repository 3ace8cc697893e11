#pragma once
/// Matrix multiplication with TVM: C = A*B in TensorIR.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::tvm_steps {

Schedule step1(const Shape &shape, DType dtype, const Target &target);
Schedule step2(const Shape &shape, DType dtype, const Target &target);
Schedule step3(const Shape &shape, DType dtype, const Target &target);
Schedule step4(const Shape &shape, DType dtype, const Target &target);
Schedule step5(const Shape &shape, DType dtype, const Target &target);
Schedule step6(const Shape &shape, DType dtype, const Target &target);

} // namespace nestsmith::tvm_steps
