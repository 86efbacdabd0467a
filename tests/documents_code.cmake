# Every ```cpp block of README.md and docs/ compiles, checked one by one: declarations in a
# namespace, statements in a function that has the names that the texts speak of, a field in an
# Estimator. `-D ONLY=docs/faq.md` checks one document.
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

# Sets `unit` to a translation unit of the block.
function(wrap block)
  set(declarations)
  set(statements "${block}")
  string(FIND "${block}" "\n};\n" behind_class)
  if(block MATCHES "int main\\(")
    set(unit "${block}" PARENT_SCOPE)
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
  set(unit "#include \"prelude.h\"\n${declarations}\n[[maybe_unused]] void statements(${names}) {\n{\n${statements}\n}\n}\n"
      PARENT_SCOPE)
endfunction()

set(failed)
set(number 0)
foreach(document ${documents})
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
    wrap("${block}")
    file(WRITE ${WORK_DIR}/block_${number}.cpp "${unit}")
    execute_process(COMMAND ${compile} -fsyntax-only block_${number}.cpp WORKING_DIRECTORY ${WORK_DIR}
                    RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      list(APPEND failed "${document} ${in_document}")
    endif()
  endwhile()
endforeach()
if(number EQUAL 0)
  message(FATAL_ERROR "the documents hold no C++")
endif()
if(failed)
  list(JOIN failed ", " failed)
  message(FATAL_ERROR "blocks that do not compile, counted from 1 in each document: ${failed}")
endif()
