#!/usr/bin/env bash
# Which lines of each parser the seeds of the fuzz targets run, and the inputs in a folder with one
# for each target, such as long runs find: a table, also in build/fuzz_coverage/parsers.txt. Fails
# where it is less than 98 % of a file. (Clang's counters for gcov lose blocks that throw.)
#
#   bash tests/fuzz/coverage.sh [build/fuzz/tests/fuzz/found]
set -euo pipefail
found=${1:+$(realpath "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source examples/common/packages.sh
install_packages "${belfry_build_packages[@]}" "${belfry_clang_packages[@]}" \
  "${belfry_snappy_packages[@]}"
folder=build/fuzz_coverage
# Files, some without functions (or all of a class) that read nothing that comes from strangers:
# they write, decide which files are kept, name a file in errors, or are handed to a library that
# never calls them. Of files that do more than that, only what reads.
parsers='
data/augment/json.cpp without augmentation_names
data/cache/element_file.cpp without ElementWriter
data/formats/arrays/cifar10.cpp
data/formats/arrays/idx.cpp
data/formats/arrays/npy.cpp without write_npy to_npy
data/formats/arrays/npz.cpp without write_npz
data/formats/arrays/stored_type.cpp
data/formats/arrays/volume.cpp
data/formats/byte_reader.cpp
data/formats/csv.cpp
data/formats/csv_value.cpp
data/formats/images/bmp.cpp
data/formats/images/image.cpp
data/formats/images/image_header.cpp
data/formats/images/jpeg.cpp
data/formats/images/png.cpp without flush_nothing
data/formats/images/tiff.cpp without write_bytes
data/formats/images/tiff_header.cpp
data/formats/images/webp.cpp
data/formats/tfrecord.cpp without TfRecordWriter
data/formats/wav.cpp without write_wav
data/position.cpp
data/sources/file_records.cpp
data/sources/fixed_length_records.cpp
data/sources/text_buffer.cpp
data/sources/text_lines.cpp
data/sources/token_files.cpp without read_token_file
data/text/added_tokens.cpp
data/text/json_place.cpp
data/text/read_tokenizer.cpp
framework/base/json.cpp
framework/base/json_text.cpp
framework/base/json_tree.cpp
framework/base/protobuf_wire.cpp without WireWriter fixed64
framework/export/extent.cpp
framework/export/instantiate.cpp
framework/export/op_table.cpp without add_known_op
framework/export/parse_examples.cpp
framework/export/saved_graph.cpp
framework/export/saved_graph_json.cpp
framework/tensor/example.cpp
framework/tensor/safetensors.cpp without save_safetensors with_file
framework/tensor/safetensors_header.cpp
framework/tensor/sorted_table.cpp
framework/tensor/tensor_bundle.cpp without write_tensor_bundle
framework/tensor/tensor_bundle_entry.cpp without to_message header_message
framework/train/checkpoint.cpp only field number parse hook_states later_field load_checkpoint
framework/train/run_config.cpp without all_gpus_or_cpu stays
framework/train/state/warm_start_values.cpp only read_tokens take_tokens
framework/train/weights.cpp only is_plain_name from_shards from_bundle named_prefix
hooks/evaluate/best.cpp only restore entry_of read_list
hooks/plateau.cpp only restore
hooks/record/curve.cpp only read
hooks/report/report.cpp only restore group_of
models/by_name/classifiers.cpp
models/by_name/gans.cpp
models/by_name/make.cpp
models/by_name/maker.cpp
models/by_name/masks.cpp
models/by_name/sequences.cpp
models/by_name/tables.cpp
'

cmake --preset fuzz_coverage
cmake --build --preset fuzz_coverage
rm -rf $folder/counts
objects=()
for path in $folder/tests/fuzz/fuzz_*; do
  [[ -x $path && -f $path ]] || continue
  inputs=("$folder/tests/fuzz/seeds/${path##*/}")
  [[ -n $found && -d $found/${path##*/} ]] && inputs+=("$found/${path##*/}")
  LLVM_PROFILE_FILE=$folder/counts/${path##*/} \
    "$path" -runs=0 -rss_limit_mb=2048 -max_len=65536 -artifact_prefix=$folder/ "${inputs[@]}" \
    >"$path.log" 2>&1 || { tail -n 40 "$path.log"; exit 1; }
  objects+=(-object "$path")
done

llvm-profdata merge $folder/counts/* -o $folder/counts/all
llvm-cov export --format=lcov --instr-profile $folder/counts/all "${objects[@]:1}" \
  $(awk 'NF { print $1 }' <<<"$parsers") >$folder/lines.info
# A line is one of the function that begins last before it. In the names that the linker sees, the
# length of each part stands in front of it.
parsers=$parsers awk -v root="$PWD/" '
  BEGIN {
    for (i = split(ENVIRON["parsers"], rows, "\n"); i > 0; --i)
      if (split(rows[i], words, " ") > 2) { kind[words[1]] = words[2]; row[words[1]] = rows[i] }
  }
  function counted(line,   words, i, named) {
    if (!(file in kind)) return 1
    while (line > 0 && !(line in begun)) --line
    for (i = split(row[file], words, " "); i > 2; --i)
      if (index(begun[line], length(words[i]) words[i])) named = 1
    return named == (kind[file] == "only")
  }
  function print_row(name, all, no, which) {
    printf "%6d %7d %7.1f  %-48s%s\n", all, no, 100 * (all - no) / all, name, which
  }
  { split(substr($0, index($0, ":") + 1), part, ",") }
  /^SF:/ { file = substr($0, 4 + length(root)); split("", begun) }
  /^FN:/ { begun[part[1]] = begun[part[1]] $0 }
  /^DA:/ && counted(part[1]) {
    ++lines[file]
    if (part[2] == 0) { ++missed[file]; which[file] = which[file] " " part[1] }
  }
  END {
    print " lines  missed percent"
    for (i = 1; i in rows; ++i) {
      if (!split(rows[i], words, " ")) continue
      file = words[1]
      if (!lines[file]) { print "no line of " file " was counted"; failed = 1; continue }
      print_row(file, lines[file], missed[file], which[file])
      if (missed[file] > 0.02 * lines[file]) failed = 1
      all += lines[file]; no += missed[file]; ++files
    }
    print_row(files " files", all, no)
    exit failed
  }' $folder/lines.info | tee $folder/parsers.txt
