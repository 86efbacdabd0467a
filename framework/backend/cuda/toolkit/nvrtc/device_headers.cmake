# The headers that NVRTC reads, as a source file with their text: device_headers.cpp. What it needs of
# the C++ library and of the host's headers stands in prelude.h; they are empty here.
set(files
  framework/backend/cuda/toolkit/nvrtc/prelude.h
  framework/base/host_device.h
  framework/ops/elementwise/normal_distribution.h
  framework/ops/elementwise/functors.h
  framework/backend/cuda/kernels/elements.h
  framework/backend/cuda/kernels/elementwise/fused_arguments.h
  framework/backend/cuda/kernels/elementwise/fused_chain.h
  framework/backend/cuda/kernels/offsets.h)
set(empty cmath cstdint string_view tuple type_traits belfry/framework/tensor/dtype.h
    belfry/framework/backend/cuda/faults.h)
set(device_headers)
foreach(file ${files})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
  file(READ ${PROJECT_SOURCE_DIR}/${file} text)
  string(APPEND device_headers "\n{\"belfry/${file}\", R\"header(${text})header\"},")
endforeach()
foreach(name ${empty})
  string(APPEND device_headers "\n{\"${name}\", \"\"},")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/device_headers.cpp.in device_headers.cpp @ONLY)
