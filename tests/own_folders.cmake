# Tests run beside each other: none may write to a folder or file that another could, so they get
# theirs from temporary_folder.h.
cmake_minimum_required(VERSION 3.22)

file(GLOB_RECURSE files RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/tests/*.h ${SOURCE_DIR}/tests/*.cpp)
if(NOT files)
  message(FATAL_ERROR "there are no tests in ${SOURCE_DIR}")
endif()
list(REMOVE_ITEM files tests/framework/base/temporary_folder.h)
foreach(file ${files})
  file(STRINGS ${SOURCE_DIR}/${file} lines REGEX "TempDir\\(|temp_directory_path|\"/tmp")
  if(lines)
    message(SEND_ERROR "${file} uses a folder that all tests share: take a TemporaryFolder or "
            "new_folder() instead:\n${lines}")
  endif()
endforeach()
