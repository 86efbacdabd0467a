# Every ```cpp block of README.md compiles, checked one by one: declarations in a namespace, statements
# in a function that has the names that the text around them speaks of, a field in an Estimator.
cmake_minimum_required(VERSION 3.22)

set(prelude [[
#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>
#include <belfry/models.h>

#include <iostream>

using namespace belfry;
using namespace belfry::hooks;

EstimatorSpec lenet(Scope s, const Batch& batch, Mode mode);

]])
set(names "Estimator& classifier, Dataset train, Dataset test, Array images, \
std::vector<std::string> serialized, EstimatorSpec spec, Tensor z, Tensor logits, Tensor drawn")

file(READ ${SOURCE_DIR}/README.md left)
file(MAKE_DIRECTORY ${WORK_DIR})
set(number 0)
set(failed)
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

  set(declarations)
  set(statements "${block}")
  string(FIND "${block}" "\n};\n" behind_class)
  if(block MATCHES "int main\\(")
    set(declarations "${block}")
    set(statements)
  elseif(NOT behind_class EQUAL -1)
    math(EXPR behind_class "${behind_class} + 4")
    string(SUBSTRING "${block}" 0 ${behind_class} declarations)
    string(SUBSTRING "${block}" ${behind_class} -1 statements)
  elseif(block MATCHES "(^|\n)[A-Za-z:]+ [a-z_]+\\([^\n]*\\) {")
    set(declarations "${block}")
    set(statements)
  elseif(block MATCHES "^\\.")
    set(statements "Estimator estimator({.model_fn = lenet,\n${block}});")
  endif()
  if(NOT declarations MATCHES "int main\\(")
    string(PREPEND declarations "${prelude}")
  endif()
  set(unit ${WORK_DIR}/block_${number}.cpp)
  file(WRITE ${unit} "${declarations}\n[[maybe_unused]] void statements(")
  if(declarations MATCHES "int main\\(")
    file(APPEND ${unit} ") {}\n")
  else()
    file(APPEND ${unit} "${names}) {\n{\n${statements}\n}\n}\n")
  endif()
  execute_process(COMMAND ${COMPILER} -std=c++20 -Wall -fsyntax-only -I ${INCLUDE_DIR}
                          -I ${SOURCE_DIR}/examples ${unit} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(APPEND failed ${number})
  endif()
endwhile()
if(number EQUAL 0)
  message(FATAL_ERROR "README.md holds no C++")
endif()
if(failed)
  message(FATAL_ERROR "blocks of README.md that do not compile, counted from 1: ${failed}")
endif()
