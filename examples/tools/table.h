#pragma once
// How the programs run, and what they print.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "belfry/framework/base/error.h"

namespace belfry::programs {

inline void print(const std::string& line) { std::printf("%s\n", line.c_str()); }

/// The status that main() returns: that of `run`, or 2 after it has printed what was thrown, also
/// if not all that was printed could be written.
inline int run_program(int (*run)(int, char**), int argc, char** argv) {
  try {
    int status = run(argc, argv);
    require(std::fflush(stdout) == 0 && !std::ferror(stdout), "cannot write to standard output");
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}

/// Columns as wide as their longest entry.
inline void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += row[i] + (i + 1 < row.size() ? std::string(widths[i] - row[i].size() + 2, ' ') : "");
    print(line);
  }
}

}  // namespace belfry::programs
