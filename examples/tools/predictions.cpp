#include "tools/predictions.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/framework/base/file.h"
#include "tools/table.h"

namespace belfry::programs {
namespace {

std::string element_text(const Array& array, std::int64_t i) {
  if (array.dtype() == DType::i64) return text(array.span<std::int64_t>()[i]);
  if (array.dtype() == DType::boolean) return text(array.at(i) != 0);
  if (array.dtype() == DType::f64) return text(array.at(i));
  return is_floating(array.dtype()) ? text(static_cast<float>(array.at(i)))
                                    : text(static_cast<std::int64_t>(array.at(i)));
}

std::string json_text(const std::string& word) {
  using Json = nlohmann::json;
  return Json(word).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The elements from `first` on that fill `shape` from `axis` on.
std::string json_of(const Array& array, const Shape& shape, int axis, std::int64_t first) {
  if (axis == shape.rank()) {
    std::string element = element_text(array, first);
    return std::isfinite(array.at(first)) ? element : json_text(element);
  }
  std::int64_t step = 1;
  for (int a = axis + 1; a < shape.rank(); ++a) step *= shape[a];
  std::vector<std::string> elements;
  for (std::int64_t i = 0; i < shape[axis]; ++i)
    elements.push_back(json_of(array, shape, axis + 1, first + i * step));
  return "[" + join(elements, ", ") + "]";
}

std::string short_text(const Array& row) {
  constexpr std::int64_t most = 6;
  if (row.shape().rank() == 0) return element_text(row, 0);
  std::vector<std::string> elements;
  for (std::int64_t i = 0; i < std::min(row.elements(), most); ++i)
    elements.push_back(element_text(row, i));
  return concat("[", join(elements, ", "),
                row.elements() > most ? concat(", ... ", row.elements(), " in all") : "", "]");
}

std::string csv_field(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (char c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string to_csv(const PredictedRows& rows) {
  std::vector<std::string> fields{"from"};
  for (const auto& [name, all] : rows.predictions) {
    std::int64_t elements = all.row(0).elements();
    if (all.shape().rank() == 1) fields.push_back(csv_field(name));
    for (std::int64_t i = 0; all.shape().rank() > 1 && i < elements; ++i)
      fields.push_back(csv_field(concat(name, "_", i)));
  }
  std::string out = join(fields, ",") + "\n";
  for (std::size_t r = 0; r < rows.origins.size(); ++r) {
    fields = {csv_field(rows.origins[r])};
    for (const auto& [name, all] : rows.predictions) {
      Array row = all.row(r);
      for (std::int64_t i = 0; i < row.elements(); ++i) fields.push_back(element_text(row, i));
    }
    out += join(fields, ",") + "\n";
  }
  return out;
}

std::string ending_of(const std::string& path) { return std::filesystem::path(path).extension(); }

}  // namespace

void print_rows(const PredictedRows& rows) {
  std::vector<std::vector<std::string>> table{{"from"}};
  for (const auto& [name, all] : rows.predictions) table[0].push_back(name);
  for (std::size_t r = 0; r < rows.origins.size(); ++r) {
    auto& line = table.emplace_back(std::vector<std::string>{rows.origins[r]});
    for (const auto& [name, all] : rows.predictions) line.push_back(short_text(all.row(r)));
  }
  print_table(table);
}

std::string to_json_lines(const PredictedRows& rows) {
  std::string out;
  for (std::size_t r = 0; r < rows.origins.size(); ++r) {
    out += "{\"from\": " + json_text(rows.origins[r]);
    for (const auto& [name, all] : rows.predictions) {
      Array row = all.row(r);
      out += ", " + json_text(name) + ": " + json_of(row, row.shape(), 0, 0);
    }
    out += "}\n";
  }
  return out;
}

void check_output(const std::string& path) {
  std::string ending = ending_of(path);
  require(ending == ".npy" || ending == ".npz" || ending == ".csv" || ending == ".jsonl",
          "--output: `", path, "` must end with .npy, .npz, .csv or .jsonl");
}

void write_rows(const std::string& path, const PredictedRows& rows) {
  std::string ending = ending_of(path);
  if (ending == ".csv") return write_file_atomically(path, to_csv(rows));
  if (ending == ".jsonl") return write_file_atomically(path, to_json_lines(rows));
  if (ending == ".npz") return data::write_npz(path, rows.predictions);
  require(rows.predictions.size() == 1,
          "--output: an .npy file holds one prediction, but there are ", rows.predictions.size(),
          "; name one with --only, or write an .npz file");
  data::write_npy(path, rows.predictions.begin()->second);
}

}  // namespace belfry::programs
