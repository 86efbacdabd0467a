#pragma once
// What the programs print.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "belfry/framework/base/error.h"

namespace belfry::programs {

inline void print(const std::string& line) { std::printf("%s\n", line.c_str()); }

/// Before a program ends. Error: not all that was printed could be written.
inline void finish_printing() {
  require(std::fflush(stdout) == 0 && !std::ferror(stdout), "cannot write to standard output");
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
