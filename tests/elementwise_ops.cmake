# A new elementwise op edits two files, functors.h and math.h, and adds its own: reciprocal, which nothing
# else needs by name, stands in these three and no others. Fails where some list of ops names it.
cmake_minimum_required(VERSION 3.22)

set(expected framework/ops/elementwise/functors.h
    framework/ops/elementwise/reciprocal.cpp framework/ops/math.h)
file(GLOB_RECURSE files RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/framework/*)
list(FILTER files INCLUDE REGEX "\\.(h|cpp|cu)$")
set(found)
foreach(file ${files})
  file(STRINGS ${SOURCE_DIR}/${file} lines REGEX "functor::Reciprocal|struct Reciprocal|[^a-z]reciprocal\\(|\"reciprocal\"")
  if(lines)
    list(APPEND found ${file})
  endif()
endforeach()
list(SORT found)
if(NOT found STREQUAL expected)
  message(FATAL_ERROR "reciprocal is named in ${found}; expected ${expected}: a new elementwise op must "
          "need no more")
endif()
