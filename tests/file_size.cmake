# Files fit in the head: none has more than 500 lines.
cmake_minimum_required(VERSION 3.22)

set(limit 500)
foreach(folder framework data hooks models examples tests)
  file(GLOB_RECURSE files RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/${folder}/*.h
       ${SOURCE_DIR}/${folder}/*.cpp ${SOURCE_DIR}/${folder}/*.cmake)
  foreach(file ${files})
    file(READ ${SOURCE_DIR}/${file} content)
    string(REGEX REPLACE "[^\n]" "" newlines "${content}")
    string(LENGTH "${newlines}" lines)
    if(lines GREATER limit)
      message(SEND_ERROR "${file} has ${lines} lines, more than ${limit}: divide it")
    endif()
  endforeach()
endforeach()
