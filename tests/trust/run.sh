#!/usr/bin/env bash
# Tries for hours what the tests try for seconds: failing memory and files, kills, random models,
# trainings and pipelines, tampered files, long work, workers that fail, threads. It goes round after
# round, with other seeds in each, and writes how often each was tried to build/trust/table.md.
#
#   bash tests/trust/run.sh [--hours H]
#
# H is a whole number, 1 unless said: a round is begun while there is time. The first one also tries
# memory, files and power failures, and measures coverage: it takes some hours by itself. Missing
# packages are installed. MNIST, which two of the ways to train that are killed read, is looked for in
# $BELFRY_DATA_DIR/mnist, or ../shared/data/mnist.
#
# Interrupted, a run goes on with the stage in which it was, for H hours more. After a change that git
# sees, it begins anew: counts of before go to build/trust/counts.before, and their seeds come again.
#
# The status is 1 if a stage failed; the next one begins all the same. The log of the one that failed,
# and inputs that a fuzz target failed on, stay in build/trust/findings, in a folder for each state of
# the sources, of which build/trust/sources is the present one. A log names the seed of what was drawn,
# which the head of each test says how to try alone. For an input: build/fuzz/tests/fuzz/fuzz_npy INPUT.
#
# tests/trust/counts.tsv keeps the counts of earlier runs, which the table adds, and no round has the
# seeds of one of these. To keep those of a run, once it has ended:
#
#   cat build/trust/counts >>tests/trust/counts.tsv
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source examples/common/packages.sh

hours=1
if (($# > 0)); then
  if (($# != 2)) || [[ $1 != --hours || ! $2 =~ ^[0-9]+$ ]]; then
    echo "usage: bash tests/trust/run.sh [--hours H], H a whole number" >&2
    exit 2
  fi
  hours=$((10#$2))
fi
folder=$PWD/build/trust
kept=tests/trust/counts.tsv # round, date, count, of what
mkdir -p "$folder"
exec 9>"$folder/lock"
flock -n 9 || { echo "another run, or a program that one has left, is under way in $folder" >&2; exit 2; }
sources=$({ git rev-parse HEAD; git diff HEAD; } | sha256sum | cut -c 1-12)
if [[ $sources != "$(cat "$folder/sources" 2>/dev/null)" ]]; then
  cat "$folder/counts" >>"$folder/counts.before" 2>/dev/null || true
  rm -f "$folder"/{done,counts}
  echo "$sources" >"$folder/sources"
fi
findings=$folder/findings/$sources
mkdir -p "$findings"
touch "$folder"/{done,counts}

build() {
  cmake --preset "$1" "${@:2}" && cmake --build --preset "$1"
}

# stage NAME COMMAND...: once a round. Lines "counted N things" say what it tried.
stage() {
  local name=$1 log=$folder/log
  shift
  grep -qx "$round $name" "$folder/done" && return
  echo "== round $round: $name, after $((SECONDS / 60)) min"
  if ! "$@" >"$log" 2>&1; then # the lock is held as long as a program of a stage lives
    cp "$log" "$findings/$name-$round.log"
    echo "FAILED: $findings/$name-$round.log"
  fi
  awk -F '\t' -v start="$round\t$(date -u +%F)\t" '
    sub(/^([0-9]+: )?counted /, "") { split($0, of, " "); sub(/^[0-9]+ /, ""); sum[$0] += of[1] }
    END { for (what in sum) printf "%s%.0f\t%s\n", start, sum[what], what }' "$log" >>"$folder/counts"
  echo "$round $name" >>"$folder/done"
  table
}

# Each runs in a process of its own, so that one that hangs or crashes hides no other. xargs would end
# if one died of a signal.
allocations() {
  local program=$tests/trust/allocations/allocations_tests
  $program --gtest_list_tests | sed -n 's/^  \([^ ]*\).*/\1/p' |
    xargs -P "$(nproc)" -I '{}' bash -c '
      timeout --foreground -k 1m 2h "$1" --gtest_filter="*$2" || { echo "FAILED $2: $?"; exit 1; }' \
      _ "$program" '{}'
}

fuzz() {
  local path target failed=0
  build fuzz || return
  for path in build/fuzz/tests/fuzz/fuzz_*; do
    [[ -x $path && -f $path ]] || continue
    target=${path##*/}
    (cd build/fuzz/tests/fuzz &&
      "./$target" -max_total_time=60 -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1024 \
        -max_len=65536 -print_final_stats=1 -seed="$round" \
        -artifact_prefix="$findings/$target-" "found/$target" "seeds/$target" 2>&1) |
      awk '{ print } $2 == "INITED" { known = substr($1, 2) }
        $1 == "stat::number_of_executed_units:" { print "counted " $2 - known " inputs of parsers" }' ||
      failed=1
  done
  return $failed
}

workers() {
  $tests/trust/workers/worker_faults_tests &&
    ctest --preset release --no-tests=error -L mpi -E worker_faults |
    sed -E 's/^.* tests failed out of ([0-9]+)/counted \1 tests of jobs of several workers/'
}

threads() {
  build tsan || return
  local begin=$SECONDS status=0
  GTEST_SHUFFLE=1 GTEST_RANDOM_SEED=$round BELFRY_DELAYS=$round ctest --preset tsan --no-tests=error ||
    status=1
  echo "counted $(((SECONDS - begin) / 60)) minutes of tests of threads under ThreadSanitizer"
  return $status
}

# Debian's hardening-check looks at the package, too.
protections() {
  install_packages devscripts
  command -v hardening-check || return
  ctest --preset release --no-tests=error -R '^(hardening|package)$'
}

found() { find "$findings" -name '*.log' | wc -l; }

table() {
  {
    printf '| tried | how often |\n|---|---|\n'
    awk -F '\t' '{ sum[$4] += $3 } END { for (what in sum) printf "| %s | %.0f |\n", what, sum[what] }' \
      "$kept" "$folder/counts" | sort
    printf '\nRounds 1 to %d, to %s; findings in this run: %d.\n' "$round" "$(date -u +%F)" "$(found)"
  } >"$folder/table.md"
}

a_round() {
  local tests=build/release/tests
  if ((round == first)); then # most of these are the same in every round
    BELFRY_ALLOCATIONS=0 stage allocations allocations
    BELFRY_CALLS=0 BELFRY_POWER_FAILURES=20 BELFRY_POWER_FAILURES_SEED=$round \
      stage files $tests/durability/durability_tests
  fi
  BELFRY_KILLS=100 BELFRY_KILLS_SEED=$round stage kills $tests/kills/kills_tests
  BELFRY_RANDOM_SEED=$((round * 1000)) BELFRY_RANDOM_MODELS=500 BELFRY_RANDOM_TRAININGS=200 \
    BELFRY_RANDOM_PIPELINES=300 BELFRY_RANDOM_CONVOLUTIONS=1000 stage random $tests/trust/random/random_tests
  BELFRY_RANDOM_SEED=$((round * 1000)) BELFRY_FUZZED_RUNS=200 \
    stage programs $tests/examples/tools/programs_tests --gtest_filter='Fuzzed*'
  BELFRY_SOAK=100 stage soak $tests/trust/soak/soak_tests
  BELFRY_WORKER_FAULTS=10 BELFRY_WORKER_FAULTS_SEED=$round stage workers workers
  stage fuzz fuzz
  stage threads threads
  if ((round == first)); then
    stage protections protections
    stage parsers bash tests/fuzz/coverage.sh
    stage coverage bash tests/coverage.sh
  fi
}

install_packages "${belfry_build_packages[@]}" "${belfry_test_packages[@]}" "${belfry_clang_packages[@]}"
build release -D BELFRY_BUILD_TESTS=ON
first=$(awk '$1 > last { last = $1 } END { print last + 1 }' "$kept")
for ((round = first; ; ++round)); do
  a_round
  ((SECONDS < hours * 3600)) || break
done
cat "$folder/table.md"
(($(found) == 0))
