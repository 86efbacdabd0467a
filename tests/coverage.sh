#!/usr/bin/env bash
# Which lines and branches the tests run, without those for GPUs: build/coverage/index.html has each
# file, build/coverage/table.md each folder, build/coverage/missed.txt the lines that no test runs.
#
#   bash tests/coverage.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source examples/common/packages.sh
install_packages "${belfry_build_packages[@]}" "${belfry_test_packages[@]}" gcovr
folder=build/coverage

cmake --preset coverage
cmake --build --preset coverage
find $folder -name '*.gcda' -delete
# Each program once: adding up what a process has run, when it ends, takes as long as a test.
failed=0
find $folder/tests -name '*_tests' -type f -executable | xargs -P "$(nproc)" -I{} \
  sh -c '{} --gtest_brief=1 >{}.log 2>&1 || { echo "failed, so that not all of it counts: {}"; exit 1; }' ||
  failed=1

gcovr --root . --object-directory $folder -j "$(nproc)" \
  --filter framework/ --filter data/ --filter hooks/ --filter models/ \
  --exclude-throw-branches --exclude-unreachable-branches --gcov-ignore-parse-errors \
  --html-details $folder/index.html --csv $folder/files.csv --json $folder/lines.json
python3 tests/coverage_table.py $folder/lines.json $folder
cat $folder/table.md
exit $failed
