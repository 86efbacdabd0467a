# Runs the residual networks for a few steps: on made-up numbers, in another precision, on small images
# and on parts of them as of photographs.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/class_folders.cmake)

function(train steps)
  execute_process(COMMAND ${PROGRAM} --max_steps ${steps} --batch_size 2
                          --config ${WORK_DIR}/saves_nothing.json ${ARGN}
                  OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "status ${status}\n${output}\n${diagnostics}")
  endif()
  string(JSON step GET "${output}" global_step)
  string(JSON loss GET "${output}" loss)
  string(JSON speed GET "${output}" examples_per_second)
  if(NOT step EQUAL steps OR NOT loss GREATER 0 OR NOT speed GREATER 0)
    message(FATAL_ERROR "with ${ARGN}: ${output}")
  endif()
  set(diagnostics "${diagnostics}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
class_folders(${WORK_DIR}/images)
file(WRITE ${WORK_DIR}/saves_nothing.json "{\"save_checkpoint\": null, \"model\": \"resnet18\"}")
train(2 --image_size 8 --model resnet34 --precision bf16)
train(2 --image_size 8 --devices cpu:0,cpu:1)
train(3 --data_dir ${WORK_DIR}/images --learning_rate 0.01)
string(REGEX MATCHALL "step [0-9]+: loss [^\n]* test accuracy [01]" lines "${diagnostics}")
list(LENGTH lines count)
if(NOT count EQUAL 3)
  message(FATAL_ERROR "${count} of 3 lines of the curve:\n${diagnostics}")
endif()
train(1 --data_dir ${WORK_DIR}/images --image_size 64)

execute_process(COMMAND ${PROGRAM} --image_size large OUTPUT_QUIET ERROR_VARIABLE diagnostics
                RESULT_VARIABLE status)
if(NOT status EQUAL 1 OR NOT diagnostics MATCHES "image_size must be a whole number, got `large`")
  message(FATAL_ERROR "a size that is none: status ${status}\n${diagnostics}")
endif()
