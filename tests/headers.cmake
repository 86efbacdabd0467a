# Every public header of FOLDER compiles alone: one translation unit each, checked but not compiled.
# Headers of a device (framework/backend/<device>/) are nobody's but the device's, and so are those of
# MPI and models/by_name/.
cmake_minimum_required(VERSION 3.22)

file(MAKE_DIRECTORY ${WORK_DIR})
set(failed)
file(GLOB_RECURSE headers RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/${FOLDER}/*.h)
list(FILTER headers EXCLUDE REGEX "^(framework/(backend/[^/]+|distribute/mpi|include)|models/by_name)/")
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
