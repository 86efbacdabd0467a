# The port for vcpkg: its version is the project's, and its portfile makes a tree that a program is built
# with. vcpkg cannot be installed from a distribution: functions here stand in for its own, by what its
# documents say of them, for release alone. The library is not built once more, but taken from the build.
cmake_minimum_required(VERSION 3.22)
include(${SOURCE_DIR}/tests/install/consumer.cmake)

set(PORT belfry)
set(FEATURES core ${COMPONENTS})
set(CURRENT_PORT_DIR ${SOURCE_DIR}/examples/packages/vcpkg)
set(CURRENT_PACKAGES_DIR ${WORK_DIR}/packages)
file(READ ${CURRENT_PORT_DIR}/vcpkg.json manifest)
string(JSON version GET "${manifest}" version)
if(NOT version STREQUAL VERSION)
  message(SEND_ERROR "vcpkg.json has version ${version}, the project ${VERSION}")
endif()

function(vcpkg_check_linkage)
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(arg "" OUT_FEATURE_OPTIONS FEATURES ${ARGN})
  set(options)
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    string(JSON description GET "${manifest}" features ${feature} description)
    set(value OFF)
    if(feature IN_LIST FEATURES)
      set(value ON)
    endif()
    list(APPEND options -D${option}=${value})
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(arg "" SOURCE_PATH OPTIONS ${ARGN})
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${WORK_DIR}/release -G ${GENERATOR}
            -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=Release -D CMAKE_INSTALL_LIBDIR=lib
            -D CMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} ${arg_OPTIONS}
    OUTPUT_VARIABLE said ERROR_VARIABLE said ECHO_OUTPUT_VARIABLE ECHO_ERROR_VARIABLE
    COMMAND_ERROR_IS_FATAL ANY)
  if(said MATCHES "Manually-specified variables were not used")
    message(SEND_ERROR "the portfile sets options that are not the project's")
  endif()
endfunction()

function(vcpkg_cmake_install)
  file(GLOB library ${BINARY_DIR}/libbelfry.so*)
  file(COPY ${library} DESTINATION ${WORK_DIR}/release)
  run(${CMAKE_COMMAND} --install ${WORK_DIR}/release)
endfunction()

# Moves the CMake package to share/, and says there how far up the tree begins.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(arg "" CONFIG_PATH "" ${ARGN})
  file(RENAME ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} ${CURRENT_PACKAGES_DIR}/share/${PORT})
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib/cmake)
  set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  file(GLOB files ${CURRENT_PACKAGES_DIR}/share/${PORT}/*.cmake)
  foreach(file ${files})
    file(READ ${file} content)
    string(REPLACE "${up}${up}${up}" "${up}${up}" content "${content}")
    string(REPLACE "_LIST_DIR}/../../../\" ABSOLUTE" "_LIST_DIR}/../../\" ABSOLUTE" content "${content}")
    file(WRITE ${file} "${content}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(arg "" "" FILE_LIST ${ARGN})
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
include(${CURRENT_PORT_DIR}/portfile.cmake)
file(GLOB folders RELATIVE ${CURRENT_PACKAGES_DIR}
     ${CURRENT_PACKAGES_DIR}/* ${CURRENT_PACKAGES_DIR}/share/*)
if(NOT folders STREQUAL "include;lib;share;share/belfry")
  message(SEND_ERROR "the package should hold include, lib and share/belfry, but holds ${folders}")
endif()
foreach(file belfry-config.cmake usage copyright)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/share/belfry/${file})
    message(SEND_ERROR "the package has no share/belfry/${file}")
  endif()
endforeach()
run_consumers(${CURRENT_PACKAGES_DIR} version)
