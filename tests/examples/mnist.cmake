# Runs the MNIST example for a few steps on digits that it draws, twice: the second run goes on.
cmake_minimum_required(VERSION 3.22)

function(train steps)
  execute_process(COMMAND ${PROGRAM} --model_dir ${WORK_DIR} --max_steps ${steps} --batch_size 4
                          --seed 3 OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "status ${status}\n${output}\n${diagnostics}")
  endif()
  if(NOT output MATCHES "^[^\n]*\n$")
    message(FATAL_ERROR "stdout should be one line, but is:\n${output}")
  endif()
  string(JSON step GET "${output}" global_step)
  string(JSON accuracy GET "${output}" accuracy)
  string(JSON loss GET "${output}" loss)
  string(JSON speed GET "${output}" examples_per_second)
  if(NOT step EQUAL steps OR accuracy LESS 0 OR accuracy GREATER 1 OR NOT loss GREATER 0
     OR NOT speed GREATER 0)
    message(FATAL_ERROR "after ${steps} steps: ${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
train(2)
train(4)
file(GLOB checkpoints RELATIVE ${WORK_DIR} ${WORK_DIR}/*)
if(NOT checkpoints MATCHES "checkpoint-2.safetensors" OR NOT checkpoints MATCHES
                                                         "checkpoint-4.safetensors")
  message(FATAL_ERROR "checkpoints: ${checkpoints}")
endif()
