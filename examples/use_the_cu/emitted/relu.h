// principles/unfused: relu(x + 1) by two kernels, through global memory
// Target: sm_90

#ifndef NESTSMITH_relu_H
#define NESTSMITH_relu_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Launches the kernels, one after the other, on `stream` and does not wait for them.
///
///   x                float [N], row-major, read; in device memory
///   y                float [N], row-major, written; in device memory
///   N                an extent of x and of y, in elements
///   workspace        device memory that the kernels hand on results in; its content does not
///                    matter
///   workspace_bytes  how much of it there is, in bytes
///   stream           where the kernels run; 0 is the default stream
///
/// Requires:
///   - N must be from 0 to 1073741824
///   - x must not be null
///   - y must not be null
///   - workspace must not be null
///   - workspace must be aligned to 256 bytes
///   - workspace_bytes must be at least relu_workspace_bytes(N)
///   - x and y must not overlap
///   - x and workspace must not overlap
///   - y and workspace must not overlap
///
/// Returns cudaErrorInvalidValue, and launches nothing, where one of these is not met:
/// relu_requirement says which one. Where N is 0, nothing is launched, no array is looked at, and
/// cudaSuccess is returned. Any other error is one of the CUDA runtime.
cudaError_t relu_launch(const float *x, float *y, long long N, void *workspace,
                        size_t workspace_bytes, cudaStream_t stream);

/// The requirement of relu_launch that these arguments do not meet, as a sentence without a stop;
/// null where they meet all. It needs no device and keeps no state: any thread may call it at any
/// time, and the string lives as long as the program.
const char *relu_requirement(const float *x, float *y, long long N, const void *workspace,
                             size_t workspace_bytes);

/// The least `workspace_bytes` for a launch of these sizes.
size_t relu_workspace_bytes(long long N);

#ifdef __cplusplus
}
#endif

#endif
