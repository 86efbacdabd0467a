# Runs the residual networks: on made-up numbers, in another precision and learnt by heart on two
# towers, on small images of two colours, and on parts of them as of photographs.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/class_folders.cmake)

function(train steps batch_size)
  execute_process(COMMAND ${PROGRAM} --max_steps ${steps} --batch_size ${batch_size}
                          --config ${WORK_DIR}/saves_nothing.json ${ARGN}
                  OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "status ${status}\n${output}\n${diagnostics}")
  endif()
  string(JSON step GET "${output}" global_step)
  string(JSON loss GET "${output}" loss)
  string(JSON speed GET "${output}" examples_per_second)
  if(NOT step EQUAL steps OR loss LESS 0 OR NOT speed GREATER 0)
    message(FATAL_ERROR "with ${ARGN}: ${output}")
  endif()
  string(JSON accuracy ERROR_VARIABLE none GET "${output}" accuracy)
  foreach(name diagnostics loss accuracy)
    set(${name} "${${name}}" PARENT_SCOPE)
  endforeach()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
class_folders(${WORK_DIR}/images)
file(WRITE ${WORK_DIR}/saves_nothing.json "{\"save_checkpoint\": null, \"model\": \"resnet18\"}")
train(2 2 --image_size 8 --model resnet34 --precision bf16)
train(10 2 --image_size 16 --learning_rate 0.02 --devices cpu:0,cpu:1)
if(loss GREATER 0.5)  # after one step it is 3
  message(FATAL_ERROR "a loss of ${loss} after 10 steps with one batch")
endif()
train(20 4 --data_dir ${WORK_DIR}/images --learning_rate 0.002)
if(accuracy LESS 1 OR loss GREATER 0.1)  # after one step the loss is 0.35
  message(FATAL_ERROR "two colours after 20 steps: accuracy ${accuracy}, loss ${loss}")
endif()
string(REGEX MATCHALL "step [0-9]+: loss [^\n]* test accuracy [01]" lines "${diagnostics}")
list(LENGTH lines count)
if(NOT count EQUAL 10)
  message(FATAL_ERROR "${count} of 10 lines of the curve:\n${diagnostics}")
endif()
train(1 2 --data_dir ${WORK_DIR}/images --image_size 64)

execute_process(COMMAND ${PROGRAM} --image_size large OUTPUT_QUIET ERROR_VARIABLE diagnostics
                RESULT_VARIABLE status)
if(NOT status EQUAL 1 OR NOT diagnostics MATCHES "image_size must be a whole number, got `large`")
  message(FATAL_ERROR "a size that is none: status ${status}\n${diagnostics}")
endif()
