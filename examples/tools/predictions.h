#pragma once
// The output of belfry-predict, printed and written.

#include <string>
#include <vector>

#include "belfry/framework/tensor/features.h"

namespace belfry::programs {

/// Predictions of all rows, and for each row where it is from.
struct PredictedRows {
  Features predictions;  ///< each [rows, ...]
  std::vector<std::string> origins;
};

/// For people: long rows are cut.
void print_rows(const PredictedRows& rows);

/// An object for each row, on a line of its own: {"from": "a.png", "digit": 3, "scores": [...]}.
/// Numbers that JSON does not have are the texts "nan", "inf" and "-inf".
std::string to_json_lines(const PredictedRows& rows);

/// Error: the name does not end with .npy, .npz, .csv or .jsonl.
void check_output(const std::string& path);
/// Whole or not at all. A column of CSV is a prediction's element: digit, scores_0, scores_1, ...
/// Error: .npy and several predictions; the file cannot be written.
void write_rows(const std::string& path, const PredictedRows& rows);

}  // namespace belfry::programs
