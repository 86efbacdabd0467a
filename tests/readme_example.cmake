# The example in README.md is examples/mnist/mnist.cpp to the letter, which the build compiles.
cmake_minimum_required(VERSION 3.22)

file(READ ${SOURCE_DIR}/README.md readme)
file(READ ${SOURCE_DIR}/examples/mnist/mnist.cpp example)
string(FIND "${readme}" "```cpp\n${example}```\n" at)
if(at EQUAL -1)
  message(FATAL_ERROR "README.md does not hold the text of examples/mnist/mnist.cpp between ```cpp "
                      "and ```; copy the file there")
endif()
