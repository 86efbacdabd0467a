# Installs into a folder, moves it elsewhere, and builds and runs a program against it from outside
# the source tree.
cmake_minimum_required(VERSION 3.22)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${WORK_DIR}/first --config ${CONFIG})
file(RENAME ${WORK_DIR}/first ${WORK_DIR}/moved)
file(COPY ${SOURCE_DIR}/tests/install/consumer DESTINATION ${WORK_DIR})
run(${CMAKE_COMMAND} -S ${WORK_DIR}/consumer -B ${WORK_DIR}/build -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${WORK_DIR}/moved -D CMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer)

# Only belfry/ lands on a consumer's include path, and no path of this machine in the package.
file(GLOB includes RELATIVE ${WORK_DIR}/moved/include ${WORK_DIR}/moved/include/*)
if(NOT includes STREQUAL belfry)
  message(FATAL_ERROR "include/ should hold belfry alone, but holds: ${includes}")
endif()
file(GLOB package ${WORK_DIR}/moved/lib*/cmake/belfry/*.cmake
     ${WORK_DIR}/moved/lib*/*/cmake/belfry/*.cmake)
if(NOT package)
  message(FATAL_ERROR "no CMake package under ${WORK_DIR}/moved")
endif()
foreach(file ${package})
  file(READ ${file} content)
  foreach(path ${SOURCE_DIR} ${WORK_DIR})
    string(FIND "${content}" "${path}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} names ${path}, so the installed tree cannot be moved")
    endif()
  endforeach()
endforeach()
