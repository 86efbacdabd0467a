# Installs into a folder, moves it elsewhere, and builds and runs programs against it, by CMake and by
# pkg-config, from outside the source tree.
cmake_minimum_required(VERSION 3.22)
include(${SOURCE_DIR}/tests/install/consumer.cmake)

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${WORK_DIR}/first --config ${CONFIG})
file(RENAME ${WORK_DIR}/first ${WORK_DIR}/moved)
run_consumers(${WORK_DIR}/moved consumer)

# Only belfry/ lands on a consumer's include path, and no path of this machine in the package.
file(GLOB includes RELATIVE ${WORK_DIR}/moved/include ${WORK_DIR}/moved/include/*)
if(NOT includes STREQUAL belfry)
  message(FATAL_ERROR "include/ should hold belfry alone, but holds: ${includes}")
endif()
file(GLOB_RECURSE package ${WORK_DIR}/moved/lib*/*.cmake ${WORK_DIR}/moved/lib*/*.pc)
if(NOT package MATCHES "belfry-config.cmake" OR NOT package MATCHES "belfry.pc")
  message(FATAL_ERROR "no CMake package or no belfry.pc under ${WORK_DIR}/moved")
endif()
foreach(file ${package})
  file(READ ${file} content)
  foreach(path ${SOURCE_DIR} ${BINARY_DIR} ${WORK_DIR})
    string(FIND "${content}" "${path}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} names ${path}, so the installed tree cannot be moved")
    endif()
  endforeach()
endforeach()

# find_component(NAME tree expected): what find_package says to one that requires NAME of a tree, each
# in a build folder of its own, as "Found Belfry" is said once in each.
function(find_component name tree expected)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/install/components -B ${WORK_DIR}/components/${tree}_${name}
            -D CMAKE_PREFIX_PATH=${WORK_DIR}/${tree} -D CMAKE_CXX_COMPILER=${COMPILER}
            -D COMPONENT=${name}
    OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  string(FIND "${said}" "${expected}" at)
  if(at EQUAL -1)
    message(SEND_ERROR "component `${name}`: expected `${expected}`, got: ${said}")
  endif()
  if(said MATCHES "Found Belfry" AND said MATCHES "CMake Error")
    message(SEND_ERROR "component `${name}`: `Found Belfry` beside an error: ${said}")
  endif()
endfunction()
foreach(component ${COMPONENTS})
  find_component(${component} moved "-- ${component} TRUE")
endforeach()
find_component(gpu moved "Belfry has no component gpu; those that it may have are cuda, mpi, snappy and programs.")
# The same tree, as if built without any.
file(COPY ${WORK_DIR}/moved/ DESTINATION ${WORK_DIR}/bare)
file(REMOVE ${WORK_DIR}/bare/bin/belfry-ckpt)
file(GLOB_RECURSE config ${WORK_DIR}/bare/belfry-config.cmake)
file(READ ${config} content)
string(REGEX REPLACE "set\\(_belfry_components [^)]*\\)" "" content "${content}")
file(WRITE ${config} "${content}")
find_component("" bare "-- cuda FALSE -- mpi FALSE -- snappy FALSE -- programs FALSE")
find_component(cuda bare "This Belfry was built without cuda: build and install one with -D BELFRY_CUDA=ON.")
find_component(programs bare "build and install it with -D BELFRY_BUILD_PROGRAMS=ON.")

find_program(pkg_config pkg-config)
if(pkg_config)
  file(GLOB_RECURSE pc ${WORK_DIR}/moved/belfry.pc)
  cmake_path(GET pc PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  execute_process(COMMAND ${pkg_config} --cflags --libs "belfry >= 0.1" OUTPUT_VARIABLE flags
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${COMPILER} -std=c++20 ${options} ${SOURCE_DIR}/tests/install/consumer/version.cpp ${flags}
      -o ${WORK_DIR}/version)
  cmake_path(GET folder PARENT_PATH folder)
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${folder}:$ENV{LD_LIBRARY_PATH} ${WORK_DIR}/version)
else()
  message(STATUS "pkg-config is not installed: belfry.pc was not tried")
endif()

# The project to copy: its test passes, and its program ends as its README says.
run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/examples/template -B ${WORK_DIR}/template -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${WORK_DIR}/moved -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_CXX_FLAGS=${options})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/template)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK_DIR}/template --no-tests=error)
execute_process(COMMAND ${WORK_DIR}/template/train ${WORK_DIR}/template/run OUTPUT_VARIABLE trained
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT trained MATCHES "^accuracy (0\\.99[0-9]|1\\.000), loss 0\\.[0-9]+\n$")
  message(FATAL_ERROR "the program of examples/template printed `${trained}`")
endif()

# The example of a project that serves an export.
run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/examples/serving -B ${WORK_DIR}/serving -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${WORK_DIR}/moved -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_CXX_FLAGS=${options})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/serving)
run(${WORK_DIR}/serving/train ${WORK_DIR}/exports)
run(${WORK_DIR}/moved/bin/belfry-predict ${WORK_DIR}/exports)
execute_process(COMMAND ${WORK_DIR}/serving/serve ${WORK_DIR}/exports 10 OUTPUT_VARIABLE served
                COMMAND_ERROR_IS_FATAL ANY)
file(READ ${SOURCE_DIR}/examples/serving/README.md readme)
string(FIND "${readme}" "    ${served}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "serve printed `${served}`, which is not what its README says")
endif()
