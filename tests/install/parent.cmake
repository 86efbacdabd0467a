# Belfry inside another project, by FetchContent: configured, and what would be built, which takes too
# long here.
cmake_minimum_required(VERSION 3.22)
include(${SOURCE_DIR}/tests/install/consumer.cmake)

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/install/parent -B ${WORK_DIR} -G ${GENERATOR}
    -D BELFRY_SOURCE=${SOURCE_DIR} -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=Release
    -D CMAKE_EXPORT_COMPILE_COMMANDS=ON)
if(GENERATOR MATCHES Ninja)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK_DIR} -- -t commands parent
                  OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
  foreach(part "--version-script=" "-o parent")
    string(FIND "${commands}" "${part}" at)
    if(at EQUAL -1)
      message(SEND_ERROR "no command that builds `parent` has `${part}`:\n${commands}")
    endif()
  endforeach()
endif()
# What the project around it asks for holds for its own file alone.
file(STRINGS ${WORK_DIR}/compile_commands.json hidden REGEX "-fvisibility=hidden")
if(NOT hidden MATCHES "^[^;]*/install/consumer/version.cpp[^;]*$")
  message(SEND_ERROR "hidden symbols are for version.cpp alone, but not in:\n${hidden}")
endif()
