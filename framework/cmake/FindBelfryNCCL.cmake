# NCCL's header as belfry_nccl, as NVIDIA's packages install it, beside the CUDA toolkit or in the
# system's folders. -D BelfryNCCL_ROOT=... names another place. The library is loaded when it is first
# needed, and may be missing until then.
find_path(BelfryNCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
if(BelfryNCCL_INCLUDE_DIR)
  file(STRINGS ${BelfryNCCL_INCLUDE_DIR}/nccl.h lines
       REGEX "#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
  list(JOIN numbers . BelfryNCCL_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BelfryNCCL VERSION_VAR BelfryNCCL_VERSION
  REQUIRED_VARS BelfryNCCL_INCLUDE_DIR)
if(BelfryNCCL_FOUND AND NOT TARGET belfry_nccl)
  add_library(belfry_nccl INTERFACE IMPORTED GLOBAL)
  target_include_directories(belfry_nccl INTERFACE ${BelfryNCCL_INCLUDE_DIR} ${CUDAToolkit_INCLUDE_DIRS})
endif()
