# Comments have subjects: no line of one begins with a bare "What", "Of" and so on, which leave out
# the noun. A line in the middle of a sentence is broken elsewhere.
cmake_minimum_required(VERSION 3.22)

set(bare "(^|[ \t])//[/<]*[ \t]*(Of|That|Those|What|Whose|Whom)([^A-Za-z0-9_]|$)")
foreach(folder framework data hooks models examples tests)
  file(GLOB_RECURSE files RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/${folder}/*.h
       ${SOURCE_DIR}/${folder}/*.cpp ${SOURCE_DIR}/${folder}/*.cu)
  if(NOT files)
    message(FATAL_ERROR "there are no sources in ${SOURCE_DIR}/${folder}")
  endif()
  foreach(file ${files})
    file(STRINGS ${SOURCE_DIR}/${file} found REGEX "${bare}")
    if(NOT found)
      continue()
    endif()
    # Characters that mean something in a list go before the text becomes a list of its lines.
    file(READ ${SOURCE_DIR}/${file} lines)
    string(REGEX REPLACE "[][;\\]" " " lines "${lines}")
    string(REPLACE "\n" ";" lines "${lines}")
    set(number 0)
    foreach(line IN LISTS lines)
      math(EXPR number "${number} + 1")
      if(line MATCHES "${bare}")
        message(SEND_ERROR "${file}:${number}: the comment begins with `${CMAKE_MATCH_2}`: begin "
                "with the noun that it is about")
      endif()
    endforeach()
  endforeach()
endforeach()
