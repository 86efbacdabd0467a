# What the tests of an installed tree have in common.
string(REPLACE "," ";" COMPONENTS "${COMPONENTS}")  # which a test's command cannot hold as a list
set(options)
if(SANITIZE)  # the library is, and so must be who links it
  set(options -fsanitize=${SANITIZE})
endif()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Builds programs of consumer/ against the tree `prefix` by CMake, and runs them.
function(run_consumers prefix)
  list(JOIN COMPONENTS "\\;" components)  # run() would make several arguments of a list
  run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/install/consumer -B ${WORK_DIR}/build -G ${GENERATOR}
      -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER=${COMPILER}
      -D CMAKE_CXX_FLAGS=${options} "-DCOMPONENTS=${components}")
  foreach(program ${ARGN})
    run(${CMAKE_COMMAND} --build ${WORK_DIR}/build --target ${program})
    run(${WORK_DIR}/build/${program})
  endforeach()
endfunction()
