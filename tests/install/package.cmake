# The .deb: its fields, what is in it, and a program built against it unpacked.
cmake_minimum_required(VERSION 3.22)
include(${SOURCE_DIR}/tests/install/consumer.cmake)

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
run(${CPACK} -G DEB -C ${CONFIG} --config ${BINARY_DIR}/CPackConfig.cmake -B ${WORK_DIR})
execute_process(COMMAND dpkg --print-architecture OUTPUT_VARIABLE architecture
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(deb ${WORK_DIR}/belfry_${VERSION}_${architecture}.deb)

# Depends on the packages of what the library is linked with, or is loaded by all that is.
execute_process(COMMAND dpkg-deb --field ${deb} OUTPUT_VARIABLE fields COMMAND_ERROR_IS_FATAL ANY)
foreach(pattern "Package: belfry\n" "Version: ${VERSION}\n" "Section: libdevel\n" "Maintainer: [^\n]+@"
                "belfry-ckpt" "belfry-predict" "Depends: [^\n]*libc6 "
                "Depends: [^\n]*libdnnl[0-9]" "Depends: [^\n]*libtbb[0-9]+"
                "Depends: [^\n]*libopencv-imgproc[0-9]+" "Depends: [^\n]*libpng16"
                "Depends: [^\n]*libwebp[0-9]+")
  if(NOT fields MATCHES "${pattern}")
    message(SEND_ERROR "${deb}: no field is like `${pattern}`:\n${fields}")
  endif()
endforeach()
if(fields MATCHES "imgcodecs")  # brings GDAL, and a hundred libraries with it
  message(SEND_ERROR "${deb} depends on OpenCV's codecs:\n${fields}")
endif()

run(dpkg-deb --extract ${deb} ${WORK_DIR}/root)
file(GLOB unpacked RELATIVE ${WORK_DIR}/root ${WORK_DIR}/root/* ${WORK_DIR}/root/usr/*)
list(FILTER unpacked EXCLUDE REGEX "^usr(/(bin|include|lib|share))?$")
if(unpacked)
  message(SEND_ERROR "${deb} has files outside /usr/{bin,include,lib,share}: ${unpacked}")
endif()
if(READELF)  # it is built with them
  foreach(file LIBRARY:lib/libbelfry.so CKPT:bin/belfry-ckpt PREDICT:bin/belfry-predict)
    string(REPLACE ":" "=${WORK_DIR}/root/usr/" file ${file})
    list(APPEND files -D ${file})
  endforeach()
  run(${CMAKE_COMMAND} ${files} -D READELF=${READELF} -D FORTIFIED=${FORTIFIED} -P ${SOURCE_DIR}/tests/install/hardening.cmake)
endif()
run_consumers(${WORK_DIR}/root/usr version)
