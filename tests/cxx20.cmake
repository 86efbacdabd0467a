# A program that is compiled as less than C++20 is told so, in the first line.
cmake_minimum_required(VERSION 3.22)

file(MAKE_DIRECTORY ${WORK_DIR})
foreach(door framework data hooks models)
  file(WRITE ${WORK_DIR}/${door}.cpp "#include <belfry/${door}.h>\n")
  execute_process(COMMAND ${COMPILER} -std=c++17 -fmax-errors=1 -fsyntax-only -I ${INCLUDE_DIR} ${WORK_DIR}/${door}.cpp
                  RESULT_VARIABLE status ERROR_VARIABLE errors)
  string(REGEX MATCH "error: [^\n]*" first "${errors}")
  if(status EQUAL 0 OR NOT first MATCHES "Belfry needs C\\+\\+20: compile with -std=c\\+\\+20")
    message(FATAL_ERROR "<belfry/${door}.h> as C++17 says first: ${first}")
  endif()
endforeach()
