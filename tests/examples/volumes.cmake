# Runs the example of volumes: it says what each device needs and learns to find most of what is set,
# of which one step finds a tenth. Then cut by the framework, on one device, which is not enough
# devices, and on two that are too small.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
file(WRITE ${WORK_DIR}/by_hand.json "{}")
file(WRITE ${WORK_DIR}/cut.json "{\"split\": 2}")
foreach(way by_hand cut)
  execute_process(COMMAND ${PROGRAM} --model_dir ${WORK_DIR}/${way} --max_steps 40 --batch_size 2
                          --config ${WORK_DIR}/${way}.json
                  OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${way}: status ${status}\n${output}\n${diagnostics}")
  endif()
  string(JSON step GET "${output}" global_step)
  string(JSON dice GET "${output}" dice)
  string(JSON loss GET "${output}" loss)
  if(NOT step EQUAL 40 OR dice LESS 0.75 OR dice GREATER 1 OR loss GREATER 1.2)
    message(FATAL_ERROR "${way}, after 40 steps: ${output}")
  endif()
  if(NOT diagnostics MATCHES "in micro-batches of 1 \\+ 1"
     OR NOT diagnostics MATCHES "a step needs [0-9.]+ MiB on cpu:0, [0-9.]+ MiB on cpu:1")
    message(FATAL_ERROR "${way}: the plan is missing:\n${diagnostics}")
  endif()
endforeach()

execute_process(COMMAND ${PROGRAM} --devices cpu --max_steps 1 --batch_size 2
                OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
if(NOT status EQUAL 1 OR NOT diagnostics MATCHES "device 1 is asked for by [^\n]*up")
  message(FATAL_ERROR "on one device: status ${status}\n${diagnostics}")
endif()

file(WRITE ${WORK_DIR}/small.json "{\"memory_limit\": 1000000}")
execute_process(COMMAND ${PROGRAM} --config ${WORK_DIR}/small.json --batch_size 2 --plan
                OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
if(NOT status EQUAL 1 OR NOT diagnostics MATCHES "the step needs [^\n]* on cpu:[01] but")
  message(FATAL_ERROR "plan with 1 MB a device: status ${status}\n${diagnostics}")
endif()
