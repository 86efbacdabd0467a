# Runs the example on the series that it makes up: its forecasts are better than those of a year before.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE ${WORK_DIR})
execute_process(COMMAND ${PROGRAM} --model_dir ${WORK_DIR} --max_steps 200 --threads 1
                OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "status ${status}\n${output}\n${diagnostics}")
endif()
foreach(name error error_of_last_year forecasts global_step)
  string(JSON ${name} GET "${output}" ${name})
endforeach()
# A year makes 1.3, as the series has it.
if(NOT global_step EQUAL 200 OR error_of_last_year LESS 1.2 OR error_of_last_year GREATER 1.5
   OR NOT error LESS 1)
  message(FATAL_ERROR "${output}")
endif()
