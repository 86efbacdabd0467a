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

# Recordings of two samples, at 16 kHz in place of 8.
file(MAKE_DIRECTORY ${WORK_DIR}/recordings)
string(CONCAT wav [[RIFF\050\000\000\000WAVEfmt \020\000\000\000\001\000\001\000\200\076\000\000]]
       [[\000\175\000\000\002\000\020\000data\004\000\000\000\000\020\000\020]])
foreach(take 0 5)
  execute_process(COMMAND printf "${wav}" OUTPUT_FILE ${WORK_DIR}/recordings/0_ann_${take}.wav
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
function(refused expected)
  execute_process(COMMAND ${PROGRAM} --data_dir ${WORK_DIR}/recordings --max_steps 1
                  OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
  if(NOT status EQUAL 1 OR NOT diagnostics MATCHES "${expected}")
    message(FATAL_ERROR "${expected}: status ${status}\n${output}\n${diagnostics}")
  endif()
endfunction()
refused("0_ann_5.wav: expected one channel at 8000 Hz, got 1 at 16000")
file(RENAME ${WORK_DIR}/recordings/0_ann_0.wav ${WORK_DIR}/recordings/zero.wav)
refused("zero.wav: expected <digit>_<speaker>_<take>.wav")
