# Runs the example of towers written by hand for a few steps: they and the strategy's make the same
# variables, on two devices to the last bit, on three but for rounding. Then on a folder of images.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/class_folders.cmake)

function(train most)
  execute_process(COMMAND ${PROGRAM} --max_steps 6 ${ARGN} OUTPUT_VARIABLE output
                  ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "status ${status}\n${output}\n${diagnostics}")
  endif()
  foreach(name global_step accuracy accuracy_by_hand losses_are_equal largest_difference)
    string(JSON ${name} GET "${output}" ${name})
  endforeach()
  if(NOT global_step EQUAL 6 OR NOT accuracy EQUAL accuracy_by_hand
     OR largest_difference GREATER most OR (most EQUAL 0 AND NOT losses_are_equal))
    message(FATAL_ERROR "with ${ARGN}: ${output}")
  endif()
  set(diagnostics "${diagnostics}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
train(0 --model_dir ${WORK_DIR}/model)
foreach(line "global batch 15 = 2 towers: 8 \\+ 7" "training on cpu:0\\+cpu:1")
  if(NOT diagnostics MATCHES "${line}")
    message(FATAL_ERROR "missing: ${line}\n${diagnostics}")
  endif()
endforeach()
foreach(way by_strategy by_hand)
  if(NOT EXISTS ${WORK_DIR}/model/${way}/checkpoint-6.safetensors)
    message(FATAL_ERROR "no checkpoint of ${way}")
  endif()
endforeach()
train(1e-4 --devices cpu:0,cpu:1,cpu:2 --batch_size 16)
class_folders(${WORK_DIR}/images)
train(0 --data_dir ${WORK_DIR}/images --batch_size 4)

execute_process(COMMAND ${PROGRAM} --data_dir ${WORK_DIR}/nowhere OUTPUT_QUIET
                ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
if(NOT status EQUAL 1 OR NOT diagnostics MATCHES "nowhere/data_batch_1.bin")
  message(FATAL_ERROR "without data: status ${status}\n${diagnostics}")
endif()
