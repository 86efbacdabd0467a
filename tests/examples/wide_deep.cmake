# Trains the wide-and-deep model on a table that is made here, where who earns much has studied and
# is married: it finds that out, and says so about rows that it has not seen.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
set(schools HS-grad Bachelors Masters)
set(states Never-married Married-civ-spouse Divorced)
set(table)
foreach(i RANGE 299)
  math(EXPR age "18 + ${i} % 49")
  math(EXPR school "${i} % 3")
  math(EXPR state "${i} / 3 % 3")
  set(income "<=50K")
  if(school GREATER 0 AND state EQUAL 1)
    set(income ">50K")
  endif()
  list(GET schools ${school} school)
  list(GET states ${state} state)
  string(APPEND table "${age}, Private, 1000, ${school}, 10, ${state}, Sales, Husband, White, Male, "
                      "0, 0, 40, United-States, ${income}\n")
endforeach()
file(WRITE ${WORK_DIR}/adult.csv "${table}")

execute_process(COMMAND ${PROGRAM} --data_dir ${WORK_DIR} --model_dir ${WORK_DIR}/model
                        --max_steps 200 --batch_size 20
                OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "status ${status}\n${output}\n${diagnostics}")
endif()
string(JSON step GET "${output}" global_step)
string(JSON accuracy GET "${output}" accuracy)
string(JSON baseline GET "${output}" accuracy_baseline)
string(JSON auc GET "${output}" auc)
if(NOT step EQUAL 200 OR accuracy LESS 0.99 OR auc LESS 0.99 OR baseline GREATER 0.8)
  message(FATAL_ERROR "after 200 steps: ${output}")
endif()

file(WRITE ${WORK_DIR}/adult.csv.old "${table}")
execute_process(COMMAND ${PROGRAM} --data_dir ${WORK_DIR} OUTPUT_VARIABLE output
                ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
if(NOT status EQUAL 1 OR NOT diagnostics MATCHES "expected one of [^\n]*adult.csv, [^\n]*adult.csv.old")
  message(FATAL_ERROR "with two tables: status ${status}\n${output}\n${diagnostics}")
endif()

execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE output ERROR_VARIABLE diagnostics
                RESULT_VARIABLE status)
if(NOT status EQUAL 1 OR NOT diagnostics MATCHES "error: --data_dir must name the folder with adult.csv")
  message(FATAL_ERROR "without data: status ${status}\n${output}\n${diagnostics}")
endif()
