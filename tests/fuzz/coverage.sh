#!/usr/bin/env bash
# Which lines of each parser the seeds of the fuzz targets run, and what long runs have found from
# them: build/fuzz_coverage/parsers.txt. (Clang's counters for gcov lose blocks that throw.)
#
#   bash tests/fuzz/coverage.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source examples/common/packages.sh
install_packages "${belfry_build_packages[@]}" "${belfry_clang_packages[@]}" \
  "${belfry_snappy_packages[@]}"
folder=build/fuzz_coverage
parsers=(
  data/augment/json.cpp data/cache/element_file.cpp data/formats/byte_reader.cpp
  data/formats/csv.cpp data/formats/csv_value.cpp data/formats/tfrecord.cpp data/formats/wav.cpp
  data/formats/arrays/{idx,npy,npz,stored_type,volume}.cpp
  data/formats/images/{bmp,image,image_header,jpeg,png,tiff,tiff_header,webp}.cpp
  data/text/{added_tokens,json_place,read_tokenizer}.cpp
  framework/base/{json,json_text,json_tree,protobuf_wire}.cpp
  framework/export/{extent,instantiate,op_table,parse_examples,saved_graph,saved_graph_json}.cpp
  framework/tensor/{example,safetensors,safetensors_header,sorted_table}.cpp
  framework/tensor/{tensor_bundle,tensor_bundle_entry}.cpp
  framework/train/{checkpoint,run_config}.cpp
)

cmake --preset fuzz_coverage
cmake --build --preset fuzz_coverage
rm -rf $folder/counts
objects=()
for path in $folder/tests/fuzz/fuzz_*; do
  [[ -x $path && -f $path ]] || continue
  inputs=("$folder/tests/fuzz/seeds/${path##*/}")
  found=build/fuzz/tests/fuzz/found/${path##*/}
  [[ -d $found ]] && inputs+=("$found")
  LLVM_PROFILE_FILE=$folder/counts/${path##*/} \
    "$path" -runs=0 -rss_limit_mb=2048 -max_len=65536 -artifact_prefix=$folder/ "${inputs[@]}" \
    >"$path.log" 2>&1 || { tail -n 40 "$path.log"; exit 1; }
  objects+=(-object "$path")
done

llvm-profdata merge $folder/counts/* -o $folder/counts/all
llvm-cov export --format=lcov --instr-profile $folder/counts/all "${objects[@]:1}" \
  "${parsers[@]}" >$folder/lines.info
awk -F '[:,]' -v root="$PWD/" '
  /^SF/ { file = substr($2, length(root) + 1) }
  /^DA/ { lines[file]++; if ($3 == 0) missed[file] = missed[file] " " $2; else run[file]++ }
  END {
    for (file in lines)
      printf "%5.1f %% of %3d lines  %s; missed:%s\n", 100 * run[file] / lines[file], lines[file], file,
        missed[file]
  }' $folder/lines.info | sort -k 5 >$folder/parsers.txt
cat $folder/parsers.txt
