# Precompiled headers. Most of what a file costs to compile is headers: they are compiled once for each
# group of layers, and all targets of a group begin from there.
# - A group names standard headers, and those of ours that nearly every file of it reads anyway: a
#   change of one compiles the whole group again.
# - A file still includes what it uses: with -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON everything compiles
#   as well, and the `headers` tests compile every public header alone.
# - Targets of a group must agree in the options that change code (-O, -fPIC, -fopenmp, sanitizers). A
#   file that cannot has SKIP_PRECOMPILE_HEADERS.
include_guard()

set(belfry_standard_headers <algorithm> <array> <atomic> <cmath> <condition_variable> <cstdint> <cstring> <exception>
             <functional> <limits> <map> <memory> <mutex> <optional> <set> <span> <stop_token>
             <string> <string_view> <thread> <utility> <variant> <vector>)
set(belfry_headers_of_arrays ${belfry_standard_headers} <belfry/framework/base/file.h>
    <belfry/framework/tensor/features.h> <belfry/framework/tensor/philox.h>)
set(belfry_headers_of_graphs ${belfry_standard_headers} <belfry/framework/graph/graph.h> <belfry/framework/graph/leaves.h>
    <belfry/framework/graph/scope.h> <belfry/framework/tensor/philox.h>)
set(belfry_headers_of_training ${belfry_headers_of_graphs} <chrono> <belfry/framework/layers/layers.h>
    <belfry/framework/ops/ops.h> <belfry/framework/tensor/features.h>
    <belfry/framework/train/estimator_spec.h> <belfry/framework/train/hook.h>)
set(belfry_headers_of_tests <filesystem> <gmock/gmock.h> <gtest/gtest.h>)
set(belfry_headers_of_tests_of_arrays ${belfry_headers_of_arrays} ${belfry_headers_of_tests})
set(belfry_headers_of_tests_of_graphs ${belfry_headers_of_graphs} ${belfry_headers_of_tests}
    <belfry/framework/ops/ops.h> <belfry/framework/runtime/check_op.h>
    <belfry/framework/runtime/evaluate.h>)
set(belfry_headers_of_tests_of_training ${belfry_headers_of_training} ${belfry_headers_of_tests}
    <belfry/framework/framework.h>)

# belfry_precompile(target GROUP): `target` belongs to this group, which says how it is compiled and from
# which headers.
function(belfry_precompile target group)
  target_link_libraries(${target} PRIVATE belfry_settings Threads::Threads)
  if(group MATCHES "^tests_")
    target_link_libraries(${target} PRIVATE GTest::gmock)
    # What is tested is optimised; the tests themselves need not be, and compile in half the time.
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_link_libraries(${target} PRIVATE belfry_hardening)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    if(group STREQUAL training AND CMAKE_CXX_FLAGS_RELEASE MATCHES "-O3")
      # There are no loops that -O3 would make faster.
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
    endif()
  endif()

  set(owner belfry_precompiled_${group})
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${belfry_headers_of_${group}})
    return()
  endif()
  if(NOT TARGET ${owner})
    set(nothing ${PROJECT_BINARY_DIR}/precompiled_headers_alone.cpp)
    file(CONFIGURE OUTPUT ${nothing} CONTENT "")
    add_library(${owner} OBJECT ${nothing})
    belfry_precompile(${owner} ${group})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
