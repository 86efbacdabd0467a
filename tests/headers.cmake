# Every header of FOLDER that is installed compiles alone, but for the standard library: one translation
# unit each, checked but not compiled. Doors, which programs include, find nothing before them; headers behind them find the
# standard library precompiled, since reading it for each is half of the time that this takes.
cmake_minimum_required(VERSION 3.22)
include(${SOURCE_DIR}/framework/cmake/BelfryHeaders.cmake)

file(MAKE_DIRECTORY ${WORK_DIR})
set(options -std=c++20 -Wall -Wextra -Wpedantic -Werror)
set(standard ${WORK_DIR}/standard.h)
file(WRITE ${standard} "#include <bits/stdc++.h>\n")
execute_process(COMMAND ${COMPILER} ${options} -x c++-header ${standard} -o ${standard}.gch
                COMMAND_ERROR_IS_FATAL ANY)
set(failed)
belfry_header_closure(headers ${SOURCE_DIR} ${belfry_doors} ${belfry_inner_doors})
list(FILTER headers INCLUDE REGEX "^${FOLDER}/")
foreach(header ${headers})
  string(REPLACE "/" "_" unit ${header})
  set(unit ${WORK_DIR}/${unit}.cpp)
  file(WRITE ${unit} "#include \"belfry/${header}\"\n")
  set(before -include ${standard})
  if(header IN_LIST belfry_doors OR header IN_LIST belfry_inner_doors)
    set(before)
  endif()
  execute_process(COMMAND ${COMPILER} ${options} ${before} -fsyntax-only
                  -I ${INCLUDE_DIR} -isystem ${OPENCV_INCLUDE_DIR} ${unit} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(APPEND failed ${header})
  endif()
endforeach()
if(failed)
  list(JOIN failed "\n  " failed)
  message(FATAL_ERROR "these headers do not compile alone:\n  ${failed}")
endif()
