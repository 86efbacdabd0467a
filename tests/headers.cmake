# Every header of FOLDER that is installed compiles alone: one translation unit each, checked but not
# compiled.
cmake_minimum_required(VERSION 3.22)
include(${SOURCE_DIR}/framework/cmake/BelfryHeaders.cmake)

file(MAKE_DIRECTORY ${WORK_DIR})
set(failed)
belfry_header_closure(headers ${SOURCE_DIR} ${belfry_doors} ${belfry_inner_doors})
list(FILTER headers INCLUDE REGEX "^${FOLDER}/")
foreach(header ${headers})
  string(REPLACE "/" "_" unit ${header})
  set(unit ${WORK_DIR}/${unit}.cpp)
  file(WRITE ${unit} "#include \"belfry/${header}\"\n")
  execute_process(COMMAND ${COMPILER} -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only
                  -I ${INCLUDE_DIR} -isystem ${OPENCV_INCLUDE_DIR} ${unit} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(APPEND failed ${header})
  endif()
endforeach()
if(failed)
  list(JOIN failed "\n  " failed)
  message(FATAL_ERROR "these headers do not compile alone:\n  ${failed}")
endif()
