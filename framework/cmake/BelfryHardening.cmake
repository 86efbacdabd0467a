# belfry_hardening: options with which a fault in the handling of memory ends the program rather than
# does what an attacker wants. They are options of GCC and clang, for the library and for the programs
# that are installed; tests/install/hardening.cmake looks for their traces. Sanitizers find more, and
# do not go together with some of these.
include_guard()
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

add_library(belfry_hardening INTERFACE)
set(BELFRY_HARDENED OFF)
if(BELFRY_HARDENING AND NOT BELFRY_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
  set(BELFRY_HARDENED ON)
endif()
if(NOT BELFRY_HARDENED)
  return()
endif()

foreach(option -fstack-protector-strong -fstack-clash-protection)
  string(MAKE_C_IDENTIFIER "BELFRY_KNOWS${option}" known)
  check_cxx_compiler_flag(${option} ${known})
  if(${known})
    target_compile_options(belfry_hardening INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${option}>)
  endif()
endforeach()

# Checked copies: level 3 knows sizes that are computed too, and needs GCC 12 or clang 9, and glibc 2.34.
# There are none without optimisation. A distribution's compiler may have set another level.
set(CMAKE_REQUIRED_FLAGS "-O1 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
check_cxx_source_compiles("
  #include <cstring>
  #if __USE_FORTIFY_LEVEL < 3
  #error not known
  #endif
  int main() {}" BELFRY_FORTIFIES_BY_COMPUTED_SIZES)
unset(CMAKE_REQUIRED_FLAGS)
set(fortification 2)
if(BELFRY_FORTIFIES_BY_COMPUTED_SIZES)
  set(fortification 3)
endif()
set(optimised $<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>)
target_compile_options(belfry_hardening INTERFACE
  $<${optimised}:-U_FORTIFY_SOURCE> $<${optimised}:-D_FORTIFY_SOURCE=${fortification}>)

# Addresses of functions are found when the program starts, and can be written no more after that.
check_linker_flag(CXX LINKER:-z,relro,-z,now BELFRY_LINKS_READ_ONLY)
if(BELFRY_LINKS_READ_ONLY)
  target_link_options(belfry_hardening INTERFACE LINKER:-z,relro,-z,now)
endif()
check_pie_supported(LANGUAGES CXX)  # for POSITION_INDEPENDENT_CODE of programs
