# Runs the example for a few steps on words of tones that it makes up: it learns something of them,
# and shows what it hears, read off in both ways.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE ${WORK_DIR})
execute_process(COMMAND ${PROGRAM} --model_dir ${WORK_DIR} --max_steps 60 --batch_size 8 --threads 1
                OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "status ${status}\n${output}\n${diagnostics}")
endif()
foreach(name words_right character_error_rate loss)
  string(JSON ${name} GET "${output}" ${name})
endforeach()
# Untrained, the loss is above 30.
if(words_right LESS 0 OR words_right GREATER 1 OR character_error_rate GREATER 1 OR NOT loss LESS 13)
  message(FATAL_ERROR "${output}")
endif()
foreach(word zero three six)
  if(NOT diagnostics MATCHES "${word}: greedy [a-z]*; beam [a-z]* [0-9]+%")
    message(FATAL_ERROR "${word} is not shown:\n${diagnostics}")
  endif()
endforeach()
