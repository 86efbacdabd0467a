# cuDNN as belfry_cudnn: header and library as NVIDIA's packages install them, beside the CUDA toolkit
# or in the system's folders. -D BelfryCUDNN_ROOT=... names another place.
find_path(BelfryCUDNN_INCLUDE_DIR cudnn_version.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(BelfryCUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR})
if(BelfryCUDNN_INCLUDE_DIR)
  file(STRINGS ${BelfryCUDNN_INCLUDE_DIR}/cudnn_version.h lines
       REGEX "#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) +[0-9]+")
  string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
  list(JOIN numbers . BelfryCUDNN_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BelfryCUDNN VERSION_VAR BelfryCUDNN_VERSION
  REQUIRED_VARS BelfryCUDNN_LIBRARY BelfryCUDNN_INCLUDE_DIR)
if(BelfryCUDNN_FOUND AND NOT TARGET belfry_cudnn)
  add_library(belfry_cudnn SHARED IMPORTED GLOBAL)
  set_target_properties(belfry_cudnn PROPERTIES IMPORTED_LOCATION ${BelfryCUDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES "${BelfryCUDNN_INCLUDE_DIR};${CUDAToolkit_INCLUDE_DIRS}")
endif()
