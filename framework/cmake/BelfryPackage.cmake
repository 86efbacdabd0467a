# `cpack -G DEB` in the build folder: belfry_<version>_<architecture>.deb with all that is installed.
# Packages of the distribution that the library is linked with are its dependencies. NVIDIA's
# libraries need not come from packages, and are not: who installs the .deb has them already.
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME belfry)
set(CPACK_PACKAGE_VENDOR "The authors of Belfry")
set(CPACK_PACKAGE_CONTACT "The authors of Belfry <belfry@localhost>" CACHE STRING
    "Who answers for a package")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_PACKAGE_DESCRIPTION
    "A shared library, its headers, a CMake package, and belfry-ckpt, which looks at checkpoints.")
if(BELFRY_CUDA)
  string(APPEND CPACK_PACKAGE_DESCRIPTION " Built for NVIDIA GPUs: needs cuBLASLt \
${CUDAToolkit_VERSION_MAJOR}, and NVRTC, cuDNN 9 and NCCL 2 where they were found, from wherever they are installed.")
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CUDAToolkit_LIBRARY_DIR})
endif()
include(CPack)
