# `cpack -G DEB` in the build folder: belfry_<version>_<architecture>.deb with all that is installed.
# It depends on the packages of what the library is linked with. NVIDIA's libraries need not come from
# packages: those that do not are left out.
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
set(CPACK_PACKAGE_DESCRIPTION "A shared library, its headers, packages for CMake and pkg-config,
belfry-ckpt, which looks at checkpoints, and belfry-predict, which serves exports.")
if(BELFRY_CUDA)
  string(APPEND CPACK_PACKAGE_DESCRIPTION "
It runs on NVIDIA GPUs as well, and for that is linked with libraries of
CUDA ${CUDAToolkit_VERSION_MAJOR} that must be installed beside it.")
  if(BelfryCUDNN_LIBRARY)
    cmake_path(GET BelfryCUDNN_LIBRARY PARENT_PATH folder)
    list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${folder})
  endif()
  list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CUDAToolkit_LIBRARY_DIR})
  list(REMOVE_DUPLICATES CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS)
endif()
include(CPack)
