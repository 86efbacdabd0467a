# NCCL as belfry_nccl: header and library as NVIDIA's packages install them, beside the CUDA toolkit or
# in the system's folders. -D BelfryNCCL_ROOT=... names another place.
find_path(BelfryNCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(BelfryNCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR})
if(BelfryNCCL_INCLUDE_DIR)
  file(STRINGS ${BelfryNCCL_INCLUDE_DIR}/nccl.h lines
       REGEX "#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
  list(JOIN numbers . BelfryNCCL_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BelfryNCCL VERSION_VAR BelfryNCCL_VERSION
  REQUIRED_VARS BelfryNCCL_LIBRARY BelfryNCCL_INCLUDE_DIR)
if(BelfryNCCL_FOUND AND NOT TARGET belfry_nccl)
  add_library(belfry_nccl SHARED IMPORTED GLOBAL)
  set_target_properties(belfry_nccl PROPERTIES IMPORTED_LOCATION ${BelfryNCCL_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES "${BelfryNCCL_INCLUDE_DIR};${CUDAToolkit_INCLUDE_DIRS}")
endif()
