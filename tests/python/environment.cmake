# What tests with other people's packages in Python have in common.

# Ends the test as one that could not be made here.
macro(skip reason)
  message("SKIPPED: ${reason}")
  return()
endmacro()

macro(find_python)
  find_program(PYTHON python3)
  if(NOT PYTHON)
    skip("python3 is not installed")
  endif()
endmacro()

# python_environment(FOLDER FILE): sets `environment` to FOLDER, a virtual environment, made once,
# with the packages that FILE lists with all that they need, since none are added. The test is skipped where
# there can be none.
macro(python_environment folder_of_environment file_of_packages)
  set(environment ${folder_of_environment})
  set(requirements ${file_of_packages})
  find_python()
  cmake_path(GET environment PARENT_PATH parent)
  file(MAKE_DIRECTORY ${parent})
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
                    TIMEOUT 420 RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT status EQUAL 0)
      if(status MATCHES "timeout")
        skip("PyPI is too slow: packages did not come in 7 minutes")
      endif()
      if(output MATCHES "connection broken by|ConnectionError|Could not fetch URL")
        skip("PyPI cannot be reached: ${output}")
      endif()
      if(output MATCHES "No matching distribution")
        skip("PyPI has not all packages for this Python: ${output}")
      endif()
      message(FATAL_ERROR "pip cannot install ${requirements}: ${output}")
    endif()
    file(WRITE ${environment}/installed ${wanted})
  endif()
  file(LOCK ${environment}.lock RELEASE)
endmacro()
