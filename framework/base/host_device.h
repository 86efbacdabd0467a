#pragma once
// Code that GPUs run too.

/// In front of a function: nvcc compiles it for the GPU as well as for the host. Such a function
/// uses no exceptions.
#if defined(__CUDACC__)
#define BELFRY_HOST_DEVICE __host__ __device__
#else
#define BELFRY_HOST_DEVICE
#endif
