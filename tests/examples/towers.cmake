# Runs the example of several towers for a few steps: it trains, says where the time went, and is
# evaluated with averages. Then its plan, and one that contradicts itself.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
set(plan ${PROGRAM} --model_dir ${WORK_DIR}/model --max_steps 5 --plan)
execute_process(COMMAND ${plan} OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics
                RESULT_VARIABLE status)
string(CONCAT expected "^steps: from 0 to 5\nglobal batch 15 = 2 towers: 8 \\+ 7\n"
       "tower 0: cpu:0, 8 rows from row 0\ntower 1: cpu:1, 7 rows from row 8\n"
       "variables: mirrored\nreductions over towers.*  bucket 0 of .*hooks: ")
if(NOT status EQUAL 0 OR NOT output MATCHES "${expected}")
  message(FATAL_ERROR "plan: status ${status}\n${output}\n${diagnostics}")
endif()
file(GLOB files ${WORK_DIR}/model/*)
if(files)
  message(FATAL_ERROR "the plan left ${files}")
endif()

execute_process(COMMAND ${plan} --devices cpu:0,cpu:0 OUTPUT_VARIABLE output
                ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
if(NOT status EQUAL 1 OR NOT output STREQUAL ""
   OR NOT diagnostics MATCHES "^error: devices: `cpu:0` is named twice\n$")
  message(FATAL_ERROR "one device twice: status ${status}\n${output}\n${diagnostics}")
endif()

execute_process(COMMAND ${PROGRAM} --model_dir ${WORK_DIR}/model --max_steps 5
                OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "status ${status}\n${output}\n${diagnostics}")
endif()
string(JSON step GET "${output}" global_step)
string(JSON accuracy GET "${output}" accuracy)
string(JSON loss GET "${output}" loss)
if(NOT step EQUAL 5 OR accuracy LESS 0 OR accuracy GREATER 1 OR NOT loss GREATER 0)
  message(FATAL_ERROR "after 5 steps: ${output}")
endif()
foreach(line "training on cpu:0, cpu:1, [^,]*, global batch 15 = 2 towers: 8 \\+ 7"
        "a step: input [0-9]+%, .*compute [0-9]+%, reduce [0-9]+%.*, apply [0-9]+%")
  if(NOT diagnostics MATCHES "${line}")
    message(FATAL_ERROR "missing: ${line}\n${diagnostics}")
  endif()
endforeach()
