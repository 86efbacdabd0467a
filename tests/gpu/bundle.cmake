# Copies programs, stripped, with the shared libraries that they need, but for those of the C library
# and of CUDA, and a script that runs one with them: bundle/run PROGRAM ARGUMENT... The libraries are
# packed, which leaves room for data where little can be sent; the first run unpacks them.
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT}/lib)
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAMS} RESOLVED_DEPENDENCIES_VAR libraries
     UNRESOLVED_DEPENDENCIES_VAR missing
     POST_EXCLUDE_REGEXES "/ld-linux" "/lib(c|m|dl|rt|pthread|resolv)\\.so"
                          "/lib(cud|cublas|nccl|nvrtc|nv)[^/]*$")
list(FILTER missing EXCLUDE REGEX "^lib(cuda|nvidia)")
if(missing)
  message(FATAL_ERROR "not found: ${missing}")
endif()
foreach(file ${PROGRAMS} ${libraries})
  set(folder ${OUT}/lib)
  if(file IN_LIST PROGRAMS)
    set(folder ${OUT})
  endif()
  file(REAL_PATH ${file} real)
  get_filename_component(name ${file} NAME)
  execute_process(COMMAND ${STRIP} -o ${folder}/${name} ${real} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${CMAKE_COMMAND} -E tar czf lib.tar.gz lib WORKING_DIRECTORY ${OUT}
                COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE_RECURSE ${OUT}/lib)
file(WRITE ${OUT}/run [=[
#!/bin/sh
# run PROGRAM ARGUMENT...: a program of this folder, with the libraries of this folder, and NVIDIA's
# from wherever this machine has them: LD_LIBRARY_PATH, CUDA's folder, or Python's packages.
here=$(cd "$(dirname "$0")" && pwd)
program=$1
shift
if [ ! -d "$here/lib" ]; then  # unpacked beside it and moved: another `run` may be here at once
  mkdir "$here/unpacking.$$" && tar -xzf "$here/lib.tar.gz" -C "$here/unpacking.$$" || exit 1
  mv -T "$here/unpacking.$$/lib" "$here/lib" 2>/dev/null || [ -d "$here/lib" ] || exit 1
  rm -rf "$here/unpacking.$$"
fi
packages=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)
for folder in /usr/local/nvidia/lib64 /usr/local/cuda*/lib64 \
    /usr/local/cuda*/targets/*/lib "$packages"/nvidia/*/lib; do
  [ -d "$folder" ] && LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
done
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
missing=$(ldd "$here/$program" | sed -n 's/ => not found//p')
if [ -n "$missing" ]; then
  echo "run: not found:" $missing >&2
  echo "run: looked in $LD_LIBRARY_PATH and the system's folders; NVIDIA's libraries are those of CUDA" \
    "13 and cuDNN 9 (pip: nvidia-cublas, nvidia-cudnn-cu13; loaded when they are needed:" \
    "nvidia-cuda-nvrtc, nvidia-nccl-cu13)" >&2
  exit 1
fi
exec "$here/$program" "$@"
]=])
file(WRITE ${OUT}/run_tests [=[
#!/bin/sh
# run_tests [FOLDER]: every suite of gpu_tests as a process of its own, since an illegal address spoils the
# process that meets it: JOBS of them at a time (a CPU each), at most SECONDS_EACH (300) each. Results lie in
# FOLDER (results): SUITE.json, and what was printed in SUITE.log.
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-results}" && results=$(cd "${1:-results}" && pwd) || exit 1
suites=$("$here/run" gpu_tests --gtest_list_tests) || { echo "$suites"; exit 1; }
echo "$suites" | sed -n '/^[^ ]/s/\.\(  #.*\)\{0,1\}$//p' |
  xargs -P "${JOBS:-$(nproc)}" -I SUITE sh -c '
    to="$2/$(echo "$3" | tr / _)"
    timeout "${SECONDS_EACH:-300}" "$1/run" gpu_tests "--gtest_filter=$3.*" "--gtest_output=json:$to.json" >"$to.log" 2>&1
    status=$?
    [ $status = 0 ] || { echo "$3: exit status $status, see $to.log"; exit 1; }' run_tests "$here" "$results" SUITE ||
  exit 1
echo "all suites passed: $(ls "$results" | grep -c "json$")"
]=])
file(CHMOD ${OUT}/run ${OUT}/run_tests PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
     WORLD_READ WORLD_EXECUTE)
set(total 0)
file(GLOB_RECURSE all ${OUT}/*)
foreach(file ${all})
  file(SIZE ${file} bytes)
  math(EXPR total "${total} + ${bytes}")
endforeach()
math(EXPR mebibytes "${total} / 1048576")
message(STATUS "${OUT}: ${mebibytes} MiB")
if(mebibytes GREATER_EQUAL 60)
  message(FATAL_ERROR "the bundle must stay below 60 MiB")
endif()
