# The library exports namespace belfry, and of it nothing of the devices' or of MPI.
cmake_minimum_required(VERSION 3.22)

execute_process(COMMAND ${NM} -D --defined-only --format=posix ${LIBRARY} OUTPUT_VARIABLE exported
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[^ \n]+" exported "${exported}")
list(TRANSFORM exported STRIP)

# What consumers catch, derive from and call.
foreach(name _ZTIN6belfry5ErrorE _ZTIN6belfry9EstimatorE _ZTIN6belfry4HookE
             _ZN6belfry9EstimatorC2ENS_16EstimatorOptionsE _ZN6belfry7versionEv)
  if(NOT name IN_LIST exported)
    message(SEND_ERROR "${LIBRARY} does not export ${name}")
  endif()
endforeach()

# Names as the compiler spells them: of functions and variables, typeinfo and vtables, thunks, guards.
set(spelling "^_Z(T[ISVT]|T[hv].*_|GV)?Z?N[KRO]*6belfry")
set(foreign ${exported})
list(FILTER foreign EXCLUDE REGEX "${spelling}")
set(internal ${exported})
list(FILTER internal INCLUDE REGEX "${spelling}(3cpu|3mpi|4cuda)[0-9]")
foreach(name ${foreign} ${internal})
  message(SEND_ERROR "${LIBRARY} exports ${name}")
endforeach()
