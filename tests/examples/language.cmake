# Runs the example on one sentence again and again, which it learns by heart.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR}/text)
string(REPEAT "Sphinx of black quartz, judge my vow.\n" 200 text)
file(WRITE ${WORK_DIR}/text/pangram.txt "${text}")
execute_process(COMMAND ${PROGRAM} --data_dir ${WORK_DIR}/text --model_dir ${WORK_DIR}/model --max_steps 120
                --context 48 --depth 1 --width 64 --batch_size 8 --samples 60 --threads 1
                OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "status ${status}\n${output}\n${diagnostics}")
endif()
foreach(name perplexity bits_per_character global_step)
  string(JSON ${name} GET "${output}" ${name})
endforeach()
if(NOT global_step EQUAL 120 OR perplexity LESS 1 OR NOT perplexity LESS 2)
  message(FATAL_ERROR "${output}\n${diagnostics}")
endif()
if(NOT diagnostics MATCHES "-- after step 60:" OR NOT diagnostics MATCHES "quartz, judge my vow")
  message(FATAL_ERROR "it has not learnt the sentence:\n${diagnostics}")
endif()

file(WRITE ${WORK_DIR}/text/pangram.txt "too short")
execute_process(COMMAND ${PROGRAM} --data_dir ${WORK_DIR}/text --max_steps 1
                OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
if(NOT status EQUAL 1 OR NOT diagnostics MATCHES "text: 9 characters; expected 2580 at least")
  message(FATAL_ERROR "status ${status}\n${output}\n${diagnostics}")
endif()
