# The library and the programs have the protections that BelfryHardening.cmake asks for: the linker's in
# the headers of the file, the compiler's in the functions that it calls.
cmake_minimum_required(VERSION 3.22)

# look(FILE OPTIONS expected...): Error unless what readelf prints of FILE has a match for each.
function(look file options)
  execute_process(COMMAND ${READELF} ${options} --wide ${file} OUTPUT_VARIABLE printed
                  COMMAND_ERROR_IS_FATAL ANY)
  foreach(expected ${ARGN})
    if(NOT printed MATCHES "${expected}")
      message(SEND_ERROR "${file}: `readelf ${options}` prints nothing like `${expected}`")
    endif()
  endforeach()
endfunction()

foreach(file ${LIBRARY} ${CKPT} ${PREDICT})
  look(${file} --program-headers "Type:? +DYN|type is DYN" "GNU_RELRO" "GNU_STACK +[^\n]+ RW ")
  look(${file} --dynamic "BIND_NOW|FLAGS_1[^\n]+NOW")
  look(${file} --dyn-syms "__stack_chk_fail")
  if(FORTIFIED)
    look(${file} --dyn-syms "__[a-z]+_chk[@ \n]")
  endif()
endforeach()
