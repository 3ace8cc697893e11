#pragma once
/// Matrix multiplication with TVM: C = A*B in TensorIR.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::tvm_steps {

Schedule step1(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule step2(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule step3(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule step4(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule step5(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule step6(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);

} // namespace nestsmith::tvm_steps
