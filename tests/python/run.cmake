# Runs PROGRAM with a folder, then read_<NAME>.py with the same folder and, with READ_BACK, PROGRAM
# again: see CMakeLists.txt. Packages are listed in <NAME>.txt.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/environment.cmake)

if(LARGE AND NOT "$ENV{BELFRY_LARGE_DOWNLOADS}")
  skip("its packages are gigabytes; set BELFRY_LARGE_DOWNLOADS=1 to have them installed")
endif()
python_environment(${WORK_DIR}/environments/${NAME} ${CMAKE_CURRENT_LIST_DIR}/${NAME}.txt)

set(folder ${WORK_DIR}/${NAME})
file(REMOVE_RECURSE ${folder})
file(MAKE_DIRECTORY ${folder})
execute_process(COMMAND ${PROGRAM} ${folder} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${environment}/bin/python ${CMAKE_CURRENT_LIST_DIR}/read_${NAME}.py ${folder}
                COMMAND_ERROR_IS_FATAL ANY)
if(READ_BACK)
  execute_process(COMMAND ${PROGRAM} ${folder} back COMMAND_ERROR_IS_FATAL ANY)
endif()
