# The library and the programs have the protections that BelfryHardening.cmake asks for: the linker's in
# the headers of the file, the compiler's in the functions that it calls. Where there is Debian's
# hardening-check, it finds them too.
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

find_program(HARDENING_CHECK hardening-check)
foreach(file ${LIBRARY} ${CKPT} ${PREDICT})
  if(HARDENING_CHECK AND FORTIFIED)  # all but control flow integrity, which is not asked for
    execute_process(COMMAND ${HARDENING_CHECK} --nocfprotection ${file} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  look(${file} --program-headers "Type:? +DYN|type is DYN" "GNU_RELRO" "GNU_STACK +[^\n]+ RW ")
  look(${file} --dynamic "BIND_NOW|FLAGS_1[^\n]+NOW")
  look(${file} --dyn-syms "__stack_chk_fail")
  if(FORTIFIED)
    look(${file} --dyn-syms "__[a-z]+_chk[@ \n]")
  endif()
endforeach()
