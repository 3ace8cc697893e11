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
///   workspace        device memory for intermediate results; its initial content does not matter
///   workspace_bytes  the size of the workspace, in bytes
///   stream           the stream of the kernels; 0 is the default stream
///
/// Requires:
///   - N must be from 0 to 1073741824
///   - x must not be null
///   - y must not be null
///   - workspace must not be null
///   - workspace must be aligned to 256 bytes
///   - workspace_bytes must be at least relu_workspace_bytes(N)
///   - x must be aligned to 4 bytes
///   - y must be aligned to 4 bytes
///   - x and y must not overlap
///   - x and workspace must not overlap
///   - y and workspace must not overlap
///
/// Returns cudaErrorInvalidValue, and launches nothing, if a requirement is violated:
/// relu_requirement returns the requirement. If N is 0, nothing is launched, no array is accessed,
/// and cudaSuccess is returned. Any other error comes from the CUDA runtime.
cudaError_t relu_launch(const float *x, float *y, long long N, void *workspace,
                        size_t workspace_bytes, cudaStream_t stream);

/// Returns the first requirement of relu_launch that these arguments violate, as a sentence without
/// a full stop, or null if there is none. The function needs no device and keeps no state: any
/// thread may call it at any time, and the string lives as long as the program.
const char *relu_requirement(const float *x, float *y, long long N, const void *workspace,
                             size_t workspace_bytes);

/// The minimum `workspace_bytes` for a launch of these sizes.
size_t relu_workspace_bytes(long long N);

#ifdef __cplusplus
}
#endif

#endif
