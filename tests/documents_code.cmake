# Every ```cpp block of README.md and docs/ compiles: declarations in a namespace, statements in a function
# that has the names that the texts speak of, a field in an Estimator. `-D ONLY=docs/faq.md` checks one document.
cmake_minimum_required(VERSION 3.22)

set(prelude [[
#pragma once
#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>
#include <belfry/models.h>
#include <belfry/ops.h>

#include <iostream>
#include <thread>

using namespace belfry;
using namespace belfry::hooks;

EstimatorSpec lenet(Scope s, const Batch& batch, Mode mode);
]])
set(names "Estimator& classifier, Dataset train, Dataset test, Array images, \
std::vector<std::string> serialized, EstimatorSpec spec, Scope s, const Batch& batch, Mode mode, Tensor x, \
Tensor z, Tensor logits, Tensor labels, Tensor drawn, std::string folder")

file(GLOB documents RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/README.md
     ${SOURCE_DIR}/docs/*.md ${SOURCE_DIR}/docs/*/*.md)
if(DEFINED ONLY)
  set(documents ${ONLY})
endif()

# The headers are read once.
file(MAKE_DIRECTORY ${WORK_DIR})
file(WRITE ${WORK_DIR}/prelude.h "${prelude}")
set(compile ${COMPILER} -std=c++20 -Wall -Wno-unused -I ${INCLUDE_DIR} -I ${SOURCE_DIR}/examples)
execute_process(COMMAND ${compile} -w -x c++-header prelude.h -o prelude.h.gch WORKING_DIRECTORY ${WORK_DIR}
                COMMAND_ERROR_IS_FATAL ANY)

# Appends a block to the document's translation unit, in a namespace of its own; a whole program has one to
# itself. Errors name the document and the block.
function(add_block unit number place block)
  set(declarations)
  set(statements "${block}")
  string(FIND "${block}" "\n};\n" behind_class)
  set(line "#line 1 \"${place}\"\n")
  if(block MATCHES "int main\\(")
    file(WRITE ${WORK_DIR}/program_${number}.cpp "#include \"prelude.h\"\n${line}${block}")
    return()
  elseif(NOT behind_class EQUAL -1)
    math(EXPR behind_class "${behind_class} + 4")
    string(SUBSTRING "${block}" 0 ${behind_class} declarations)
    string(SUBSTRING "${block}" ${behind_class} -1 statements)
  elseif(block MATCHES "(^|\n)[A-Za-z:]+ [a-z_0-9]+\\([^\n]*(\n[^\n]*)?\\) {")
    set(declarations "${block}")
    set(statements)
  elseif(block MATCHES "^\\.")
    set(statements "Estimator estimator({.model_fn = lenet,\n${block}});")
  endif()
  file(APPEND ${unit} "namespace block_${number} {\n${line}${declarations}\nvoid statements(${names}) {\n{\n"
                      "${line}${statements}\n}\n}\n}\n")
endfunction()

file(GLOB old ${WORK_DIR}/*.cpp)
if(old)
  file(REMOVE ${old})
endif()
set(number 0)
foreach(document ${documents})
  string(MAKE_C_IDENTIFIER ${document} unit)
  set(unit ${WORK_DIR}/${unit}.cpp)
  file(WRITE ${unit} "#include \"prelude.h\"\n")
  file(READ ${SOURCE_DIR}/${document} left)
  set(in_document 0)
  while(TRUE)
    string(FIND "${left}" "```cpp\n" at)
    if(at EQUAL -1)
      break()
    endif()
    math(EXPR at "${at} + 7")
    string(SUBSTRING "${left}" ${at} -1 left)
    string(FIND "${left}" "```\n" end)
    string(SUBSTRING "${left}" 0 ${end} block)
    math(EXPR number "${number} + 1")
    math(EXPR in_document "${in_document} + 1")
    add_block(${unit} ${number} "${document}, block ${in_document}" "${block}")
  endwhile()
endforeach()
if(number EQUAL 0)
  message(FATAL_ERROR "the documents hold no C++")
endif()

file(GLOB units ${WORK_DIR}/*.cpp)
set(failed)
foreach(unit ${units})
  execute_process(COMMAND ${compile} -fsyntax-only ${unit} WORKING_DIRECTORY ${WORK_DIR} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(APPEND failed ${unit})
  endif()
endforeach()
if(failed)
  message(FATAL_ERROR "blocks do not compile; the errors above name them")
endif()
message(STATUS "${number} blocks")
