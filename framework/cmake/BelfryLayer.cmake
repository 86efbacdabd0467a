# belfry_layer(NAME ... PRECOMPILED group [DEPENDS layer...] [PACKAGES target...] [FOLDERS folder...]
# [SOURCES file...]): the sources of this folder, of those below it that are named, and these files, as
# one OBJECT library belfry_NAME, compiled from the headers of a group (BelfryPrecompile.cmake).
# belfry_library(): all layers as the library `belfry`. belfry_test(NAME ...): the folder's *_test.cpp
# as one test program.
include_guard()
include(GNUInstallDirs)
include(BelfryExports)
include(BelfryHardening)
include(BelfryPrecompile)

# Consumers write #include <belfry/framework.h> in the source tree and after installation alike, and
# no folder with a generic name lands on their include path: framework/include/belfry holds links, which
# are there before CMake has run, so that editors and other tools find headers too.
set(BELFRY_INCLUDE_DIR ${PROJECT_SOURCE_DIR}/framework/include)

add_library(belfry_settings INTERFACE)
target_compile_features(belfry_settings INTERFACE cxx_std_20)
target_include_directories(belfry_settings INTERFACE ${BELFRY_INCLUDE_DIR})
target_compile_options(belfry_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Werror=thread-safety>  # see base/mutex.h
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${BELFRY_WERROR}>>:-Werror>
  # CMake before 3.26 has no name for C++20 in CUDA.
  $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 -Xcompiler=-Wall,-Wextra --expt-relaxed-constexpr
                                 --diag-suppress=186  # a template compares unsigned with 0
                                 --compress-mode=size>  # kernels of a tenth of the size
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${BELFRY_WERROR}>>:-Werror=all-warnings>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 reports -Wrestrict on `"a" + std::string` (GCC bug 105651) and, where it instruments, that
  # members in <regex> may be uninitialized (GCC bug 105562). From precompiled headers it reports the
  # first by two more names.
  target_compile_options(belfry_settings INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
  if(BELFRY_SANITIZE)
    target_compile_options(belfry_settings INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(BELFRY_SANITIZE)
  include(CheckLinkerFlag)
  string(MAKE_C_IDENTIFIER "BELFRY_SANITIZES_${BELFRY_SANITIZE}" works)
  check_linker_flag(CXX -fsanitize=${BELFRY_SANITIZE} ${works})
  if(NOT ${works})
    message(FATAL_ERROR "BELFRY_SANITIZE is `${BELFRY_SANITIZE}`, which ${CMAKE_CXX_COMPILER} does not know")
  endif()
  # Two of UBSan's checks find what AddressSanitizer finds too, and take a quarter of the compile time.
  target_compile_options(belfry_settings INTERFACE -fsanitize=${BELFRY_SANITIZE}
                         -fno-sanitize=null,vptr -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(belfry_settings INTERFACE -fsanitize=${BELFRY_SANITIZE})
  # Macros of g++'s that clang 14 does not define.
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND BELFRY_SANITIZE MATCHES "address|thread")
    string(TOUPPER ${CMAKE_MATCH_0} sanitizer)
    target_compile_definitions(belfry_settings INTERFACE __SANITIZE_${sanitizer}__)
  endif()
endif()

function(belfry_layer name)
  cmake_parse_arguments(arg "" "PRECOMPILED" "DEPENDS;PACKAGES;FOLDERS;SOURCES" ${ARGN})
  list(TRANSFORM arg_FOLDERS APPEND /*.cpp)
  file(GLOB sources CONFIGURE_DEPENDS *.cpp ${arg_FOLDERS})
  add_library(belfry_${name} OBJECT ${sources} ${arg_SOURCES})
  set_target_properties(belfry_${name} PROPERTIES LINKER_LANGUAGE CXX)
  belfry_precompile(belfry_${name} ${arg_PRECOMPILED})
  target_link_libraries(belfry_${name} PRIVATE ${arg_PACKAGES})
  set(closure ${name})
  set(packages ${arg_PACKAGES})
  foreach(dependency ${arg_DEPENDS})
    get_property(below GLOBAL PROPERTY belfry_closure_${dependency})
    get_property(needed GLOBAL PROPERTY belfry_packages_${dependency})
    list(APPEND closure ${below})
    list(APPEND packages ${needed})
  endforeach()
  list(REMOVE_DUPLICATES closure)
  list(REMOVE_DUPLICATES packages)
  set_property(GLOBAL PROPERTY belfry_closure_${name} "${closure}")
  set_property(GLOBAL PROPERTY belfry_packages_${name} "${packages}")
  set_property(GLOBAL PROPERTY belfry_own_packages_${name} "${arg_PACKAGES}")
  set_property(GLOBAL PROPERTY belfry_group_${name} ${arg_PRECOMPILED})
  set_property(GLOBAL APPEND PROPERTY belfry_layers ${name})
  set_property(GLOBAL APPEND PROPERTY belfry_packages ${arg_PACKAGES})
endfunction()

# Links `target` with the objects of the layers given and of all below them.
function(belfry_link_layers target)
  foreach(layer ${ARGN})
    get_property(closure GLOBAL PROPERTY belfry_closure_${layer})
    get_property(packages GLOBAL PROPERTY belfry_packages_${layer})
    list(APPEND layers ${closure})
    list(APPEND libraries ${packages})
  endforeach()
  list(REMOVE_DUPLICATES layers)
  list(REMOVE_DUPLICATES libraries)
  foreach(layer ${layers})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:belfry_${layer}>)
  endforeach()
  target_link_libraries(${target} PRIVATE belfry_settings belfry_hardening Threads::Threads ${libraries})
endfunction()

function(belfry_library)
  get_property(layers GLOBAL PROPERTY belfry_layers)
  add_library(belfry SHARED)
  add_library(belfry::belfry ALIAS belfry)
  add_library(Belfry::belfry ALIAS belfry)
  belfry_link_layers(belfry ${layers})
  belfry_exports(belfry)
  set_target_properties(belfry PROPERTIES VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(belfry PUBLIC cxx_std_20)
  target_include_directories(belfry INTERFACE $<BUILD_INTERFACE:${BELFRY_INCLUDE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# belfry_tested: the layers as one shared library with everything visible, which tests link: so there is
# one large link and many small ones, and a changed .cpp needs no more than that. Layers that few tests
# need are left to those: models, and MPI and NVIDIA's libraries, which register themselves.
function(belfry_tested_library)
  get_property(layers GLOBAL PROPERTY belfry_layers)
  list(REMOVE_ITEM layers models distribute_mpi backend_cuda_toolkit)
  add_library(belfry_tested SHARED EXCLUDE_FROM_ALL)
  belfry_link_layers(belfry_tested ${layers})
  set_property(GLOBAL PROPERTY belfry_layers_of_tests "${layers}")
endfunction()

# A program of the tests: linked with belfry_tested and with those of these layers, and of what they
# depend on, that are not in it; compiled as the tests of the first, which may use its packages.
function(belfry_test_program target)
  get_property(inside GLOBAL PROPERTY belfry_layers_of_tests)
  set(outside)
  foreach(layer ${ARGN})
    get_property(closure GLOBAL PROPERTY belfry_closure_${layer})
    list(APPEND outside ${closure})
  endforeach()
  list(REMOVE_DUPLICATES outside)
  list(REMOVE_ITEM outside ${inside})
  foreach(layer ${outside})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:belfry_${layer}>)
  endforeach()
  foreach(layer ${ARGN} ${outside})
    get_property(packages GLOBAL PROPERTY belfry_own_packages_${layer})
    target_link_libraries(${target} PRIVATE ${packages})
  endforeach()
  target_link_libraries(${target} PRIVATE belfry_tested)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS_NO_SHARED ON)
  get_property(group GLOBAL PROPERTY belfry_group_${ARGV1})
  belfry_precompile(${target} tests_of_${group})
endfunction()

# belfry_test(NAME LAYERS layer... [PACKAGES ...] [LABEL label] [FOLDERS folder...] [TESTS_OF name...]).
# Those labelled `threads` run under ThreadSanitizer too, those labelled `gpu` where there is one. With
# TESTS_OF, the tests of other programs are linked once more, with these layers.
function(belfry_test name)
  cmake_parse_arguments(arg "" "LABEL" "LAYERS;PACKAGES;FOLDERS;TESTS_OF" ${ARGN})
  list(TRANSFORM arg_FOLDERS APPEND /*_test.cpp)
  file(GLOB sources CONFIGURE_DEPENDS *_test.cpp ${arg_FOLDERS})
  foreach(other ${arg_TESTS_OF})
    list(APPEND sources $<TARGET_OBJECTS:${other}_tests>)
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_tests ${sources})
  if(arg_LAYERS)
    belfry_test_program(${name}_tests ${arg_LAYERS})
  else()
    belfry_precompile(${name}_tests tests_of_training)
  endif()
  target_link_libraries(${name}_tests PRIVATE GTest::gtest_main ${arg_PACKAGES})
  target_compile_definitions(${name}_tests PRIVATE
                             BELFRY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_dependencies(all_tests ${name}_tests)
  if(arg_LABEL STREQUAL "threads")
    add_dependencies(threads_tests ${name}_tests)
  endif()
  set(label)
  if(arg_LABEL)
    set(label LABELS ${arg_LABEL})
  endif()
  set(properties ${label} ENVIRONMENT
      "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")
  if(BELFRY_SANITIZE)
    # A sanitized program takes a tenth of a second to start: all its tests run in one. Those with most
    # to do start first.
    add_test(NAME ${name} COMMAND ${name}_tests --gtest_brief=1)
    list(LENGTH sources cost)
    set_tests_properties(${name} PROPERTIES TIMEOUT 1800 COST ${cost} ${properties})
  else()
    # A program may take seconds to start on a busy machine.
    gtest_discover_tests(${name}_tests TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST
                         DISCOVERY_TIMEOUT 300 PROPERTIES TIMEOUT 600 ${properties})
  endif()
endfunction()
