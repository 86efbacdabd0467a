# Runs a GAN of digits for ROUNDS rounds: both networks are counted (CRITIC_STEPS in all), digits are
# judged and drawn, and the discriminator has learnt so much that its loss is below LOSS_BELOW, if that
# is set. (That the generator learns cannot be seen in seconds: in the first rounds its moving averages
# alone bring the distance down.) The second time there is nothing to train, and the judgement is the
# same.
cmake_minimum_required(VERSION 3.22)

function(train out)
  execute_process(COMMAND ${PROGRAM} --model_dir ${WORK_DIR} --max_steps ${ROUNDS} --batch_size 4
                          --threads 1
                  OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT output MATCHES "^[^\n]*\n$")
    message(FATAL_ERROR "status ${status}\n${output}\n${diagnostics}")
  endif()
  set(${out} "${output}" PARENT_SCOPE)
endfunction()

# Without a folder it makes one.
file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR}/tmp)
execute_process(COMMAND ${CMAKE_COMMAND} -E env TMPDIR=${WORK_DIR}/tmp ${PROGRAM} --max_steps 1 --batch_size 4
                        --threads 1
                OUTPUT_QUIET ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
file(GLOB_RECURSE pictures ${WORK_DIR}/tmp/digits-real.png)
if(NOT status EQUAL 0 OR NOT pictures)
  message(FATAL_ERROR "without --model_dir: status ${status}, pictures `${pictures}`\n${diagnostics}")
endif()
file(REMOVE_RECURSE ${WORK_DIR})
train(output)
foreach(expected global_step:${ROUNDS} generator_step:${ROUNDS} discriminator_step:${CRITIC_STEPS})
  string(REPLACE ":" ";" expected ${expected})
  list(GET expected 0 name)
  list(GET expected 1 steps)
  string(JSON found GET "${output}" ${name})
  if(NOT found EQUAL steps)
    message(FATAL_ERROR "${name} is ${found}, not ${steps}: ${output}")
  endif()
endforeach()
string(JSON generated GET "${output}" frechet_distance)
string(JSON real GET "${output}" real_frechet_distance)
string(JSON score GET "${output}" inception_score)
if(NOT generated GREATER real OR NOT real GREATER 0 OR score LESS 1 OR score GREATER 10)
  message(FATAL_ERROR "judged: ${output}")
endif()
string(JSON loss GET "${output}" discriminator_loss)
if(DEFINED LOSS_BELOW AND NOT loss LESS LOSS_BELOW)
  message(FATAL_ERROR "the discriminator has learnt nothing: ${output}")
endif()
math(EXPR tenth "${ROUNDS} / 10")
if(tenth LESS 1)
  set(tenth 1)
endif()
foreach(picture digits-real digits-${tenth} digits-${ROUNDS})
  file(READ ${WORK_DIR}/${picture}.png signature LIMIT 8 HEX)
  if(NOT signature STREQUAL 89504e470d0a1a0a)
    message(FATAL_ERROR "${picture}.png is no PNG: ${signature}")
  endif()
endforeach()

train(again)
if(NOT again STREQUAL output)
  message(FATAL_ERROR "first\n${output}and then\n${again}")
endif()
