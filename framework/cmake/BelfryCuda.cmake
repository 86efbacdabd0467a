# Decides whether CUDA is compiled, and for which GPUs, and says so in one line. It takes minutes, so
# AUTO compiles it only where there is a GPU, and for that one; ON makes what runs elsewhere too. Sets
# BELFRY_CUDA and CMAKE_CUDA_ARCHITECTURES, and enables the language.
include_guard()

# The GPUs of this machine as 80, 90, ...: A100 and newer, as CUDA's kernels need.
set(belfry_gpus)
find_program(BELFRY_NVIDIA_SMI nvidia-smi)
if(BELFRY_CUDA AND BELFRY_NVIDIA_SMI)
  execute_process(COMMAND ${BELFRY_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE said RESULT_VARIABLE status ERROR_QUIET TIMEOUT 30)
  if(status EQUAL 0)
    string(REGEX MATCHALL "[^\n]+" belfry_gpus "${said}")
    list(FILTER belfry_gpus INCLUDE REGEX "^([89]|1[0-9])\\.[0-9]$")
    list(REMOVE_DUPLICATES belfry_gpus)
    list(TRANSFORM belfry_gpus REPLACE "\\." "")
  endif()
endif()

set(how_to_change "-D BELFRY_CUDA=ON compiles it")
set(architectures "80-real;90")  # A100 and H100, and newer ones by PTX
if(NOT BELFRY_CUDA STREQUAL AUTO)
  set(why "as BELFRY_CUDA says")
elseif(NOT belfry_gpus)
  set(BELFRY_CUDA OFF)
  set(why "this machine has no NVIDIA GPU, or none of the A100's time or later")
else()
  set(why "this machine has a GPU")
  list(TRANSFORM belfry_gpus APPEND -real OUTPUT_VARIABLE architectures)
  find_package(CUDAToolkit 13 QUIET)
  include(CheckLanguage)
  check_language(CUDA)
  set(BELFRY_CUDA ON)
  if(NOT CUDAToolkit_FOUND OR NOT CMAKE_CUDA_COMPILER)
    set(BELFRY_CUDA OFF)
    string(APPEND why ", but CUDA's toolkit 13 was not found")
    set(how_to_change "install it, or put its nvcc on PATH")
  endif()
endif()

if(BELFRY_CUDA)
  find_package(CUDAToolkit 13 REQUIRED)
  # What a project around this one compiles for may be too old for the kernels.
  list(FILTER CMAKE_CUDA_ARCHITECTURES EXCLUDE REGEX "^[1-7][0-9]($|-)")
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES "${architectures}")
  endif()
  enable_language(CUDA)
  # Where programs of the build find the libraries that they load when these are first needed.
  list(APPEND CMAKE_BUILD_RPATH ${CUDAToolkit_LIBRARY_DIR})
  list(JOIN CMAKE_CUDA_ARCHITECTURES ", " architectures)
  message(STATUS "CUDA: on (${why}), for ${architectures}; -D CMAKE_CUDA_ARCHITECTURES=... compiles it "
                 "for others, -D BELFRY_CUDA=OFF leaves it out")
else()
  message(STATUS "CUDA: off (${why}); ${how_to_change}")
endif()
