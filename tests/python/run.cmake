# Runs PROGRAM with a folder, then read_<NAME>.py with the same folder and, with READ_BACK, PROGRAM
# again: see CMakeLists.txt. Packages are listed in <NAME>.txt with all that they need, since none are
# added.
cmake_minimum_required(VERSION 3.22)

# Ends the test as one that could not be made here.
macro(skip reason)
  message("SKIPPED: ${reason}")
  return()
endmacro()

find_program(PYTHON python3)
if(NOT PYTHON)
  skip("python3 is not installed")
endif()
set(requirements ${CMAKE_CURRENT_LIST_DIR}/${NAME}.txt)
set(environment ${WORK_DIR}/environments/${NAME})
file(MAKE_DIRECTORY ${WORK_DIR}/environments)
file(LOCK ${environment}.lock TIMEOUT 500)
file(SHA256 ${requirements} wanted)
set(installed)
if(EXISTS ${environment}/installed)
  file(READ ${environment}/installed installed)
endif()
if(NOT installed STREQUAL wanted)
  file(REMOVE_RECURSE ${environment})
  execute_process(COMMAND ${PYTHON} -m venv ${environment} RESULT_VARIABLE status
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    skip("python3 cannot make a virtual environment (python3-venv?): ${output}")
  endif()
  execute_process(COMMAND ${environment}/bin/pip install --quiet --disable-pip-version-check
                          --no-input --no-deps --only-binary :all: --retries 2 -r ${requirements}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    if(output MATCHES "connection broken by|ConnectionError|Could not fetch URL")
      skip("PyPI cannot be reached: ${output}")
    endif()
    message(FATAL_ERROR "pip cannot install ${requirements}: ${output}")
  endif()
  file(WRITE ${environment}/installed ${wanted})
endif()
file(LOCK ${environment}.lock RELEASE)

set(folder ${WORK_DIR}/${NAME})
file(REMOVE_RECURSE ${folder})
file(MAKE_DIRECTORY ${folder})
execute_process(COMMAND ${PROGRAM} ${folder} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${environment}/bin/python ${CMAKE_CURRENT_LIST_DIR}/read_${NAME}.py ${folder}
                COMMAND_ERROR_IS_FATAL ANY)
if(READ_BACK)
  execute_process(COMMAND ${PROGRAM} ${folder} back COMMAND_ERROR_IS_FATAL ANY)
endif()
