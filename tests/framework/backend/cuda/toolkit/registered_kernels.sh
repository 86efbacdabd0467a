#!/usr/bin/env bash
# registered_kernels.sh OBJECT...: every kernel function that nvcc's objects hold is known to CUDA.
# Where the host's compiler makes another instantiation of a kernel template than nvcc's front end has
# seen (a type that depends on what a __device__ function returns by `auto`), its address compiles and
# links, and cannot be launched.
set -euo pipefail
bad=0 objects=0
for object in "$@"; do
  [[ $object == *.cu.o ]] || continue
  objects=$((objects + 1))
  nm "$object" | awk '
    match($0, /[0-9]+__device_stub__Z/) {
      name = substr($0, RSTART); length_of = name + 0
      sub(/^[0-9]+/, "", name); print "registered _" substr(name, 16, length_of - 15)
    }
    $2 ~ /^[tTwW]$/ && $3 ~ /^_Z/ && $3 !~ /\./ { print "function " $3 }' \
    | sort -u | c++filt | awk -v object="${object##*/}" '
    # Parameters may be spelt in two ways; template arguments tell instantiations apart.
    { kind = $1; sub(/^[a-z]+ (void )?/, ""); gsub(/[(]anonymous namespace[)]::/, ""); sub(/[(].*/, "") }
    { base = $0; sub(/<.*/, "", base) }
    kind == "registered" { registered[$0]; bases[base]; ++count }
    kind == "function" { functions[$0] = base }
    END {
      for (name in functions)
        if (functions[name] in bases && !(name in registered)) {
          print object ": unknown to CUDA: " name
          failed = 1
        }
      if (!count) { print object ": no kernels found"; failed = 1 }
      exit failed
    }' || bad=1
done
if ((objects == 0)); then
  echo "no objects of nvcc among: $*"
  bad=1
fi
exit $bad
