# Runs machine_code.py on OBJECTS, a list with commas, with the disassembler of CUDA's toolkit in TOOLKIT or, where
# that was installed without it, with PyPI's.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/../../../../python/environment.cmake)

find_program(CUOBJDUMP cuobjdump PATHS ${TOOLKIT} NO_DEFAULT_PATH)
find_program(NVDISASM nvdisasm PATHS ${TOOLKIT} NO_DEFAULT_PATH)
find_python()
if(NOT CUOBJDUMP OR NOT NVDISASM)
  python_environment(${WORK_DIR}/machine_code ${CMAKE_CURRENT_LIST_DIR}/machine_code.txt)
  file(GLOB_RECURSE CUOBJDUMP ${environment}/cuobjdump)
  file(GLOB_RECURSE NVDISASM ${environment}/nvdisasm)
endif()
string(REPLACE "," ";" OBJECTS "${OBJECTS}")  # which a test's command cannot hold as a list
execute_process(COMMAND ${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/machine_code.py "${CUOBJDUMP}" "${NVDISASM}"
                        ${OBJECTS}
                RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "machine_code.py: ${status}")
endif()
