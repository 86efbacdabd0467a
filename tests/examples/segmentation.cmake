# Runs the example of segmentation on cells that it draws: it keeps the best checkpoint and draws
# overlays of it. The second run goes on, remembers what was the best, and knows cells and membranes,
# whose Dice is 0.4 and 0.6 after one step.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
set(last_dice 0)
foreach(steps 10 30)
  execute_process(COMMAND ${PROGRAM} --model_dir ${WORK_DIR} --max_steps ${steps} --batch_size 2
                  OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "status ${status}\n${output}\n${diagnostics}")
  endif()
  string(JSON step GET "${output}" global_step)
  string(JSON best GET "${output}" best_step)
  string(JSON cell GET "${output}" cell_dice)
  string(JSON membrane GET "${output}" membrane_dice)
  if(NOT step EQUAL steps OR best GREATER steps OR NOT cell GREATER 0 OR cell GREATER 1
     OR membrane LESS 0 OR membrane GREATER 1 OR cell LESS last_dice)
    message(FATAL_ERROR "after ${steps} steps: ${output}, before ${last_dice}")
  endif()
  set(last_dice ${cell})
  file(GLOB kept RELATIVE ${WORK_DIR}/best ${WORK_DIR}/best/*.safetensors)
  if(NOT kept STREQUAL "checkpoint-${best}.safetensors")
    message(FATAL_ERROR "kept as the best: ${kept}, not of step ${best}")
  endif()
  file(READ ${WORK_DIR}/overlays.png signature LIMIT 8 HEX)
  file(REMOVE ${WORK_DIR}/overlays.png)
  if(NOT signature STREQUAL 89504e470d0a1a0a)
    message(FATAL_ERROR "overlays.png is no PNG: ${signature}")
  endif()
endforeach()
if(cell LESS 0.85 OR membrane LESS 0.8)
  message(FATAL_ERROR "after 30 steps: ${output}")
endif()

file(REMOVE_RECURSE ${WORK_DIR}/best)
execute_process(COMMAND ${PROGRAM} --model_dir ${WORK_DIR} --max_steps 30
                OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
if(NOT status EQUAL 1 OR NOT diagnostics MATCHES "stopped at step 30 before an evaluation")
  message(FATAL_ERROR "without a best checkpoint: status ${status}\n${output}\n${diagnostics}")
endif()
