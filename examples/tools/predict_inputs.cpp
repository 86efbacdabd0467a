#include "tools/predict_inputs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>

#include "belfry/data/augment/augment.h"
#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/data/formats/csv.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/data/formats/tfrecord.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/array.h"
#include "tools/preparation.h"

namespace belfry::programs {
namespace {

enum class Kind { image, npy, npz, csv, records };

Kind kind_of(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  if (name.find("tfrecord") != std::string::npos) return Kind::records;
  std::string ending = std::filesystem::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  static const std::map<std::string, Kind> kinds{
      {".png", Kind::image},  {".jpg", Kind::image}, {".jpeg", Kind::image}, {".bmp", Kind::image},
      {".webp", Kind::image}, {".tif", Kind::image}, {".tiff", Kind::image}, {".npy", Kind::npy},
      {".npz", Kind::npz},    {".csv", Kind::csv}};
  auto found = kinds.find(ending);
  require(found != kinds.end(), "`", path,
          "` is of no kind that is known; there are images, .npy, .npz, .csv, and files with "
          "`tfrecord` in their names");
  return found->second;
}

std::vector<Input> inputs_of(const Predictor& predictor, const std::string& signature) {
  std::vector<Input> inputs;
  for (const auto& [name, type] : predictor.inputs(signature)) {
    require(!type.sizes.empty() && type.sizes[0] == saved::rows_of_batch, "the input `", name,
            "` is ", type, ", whose first axis is not that of the rows");
    const Shape& shape = type.at({.rows = 1, .steps = predictor.most_steps(signature)}).shape;
    inputs.push_back({name, {Shape(std::span(shape.begin() + 1, shape.end())), type.dtype}});
  }
  return inputs;
}

const Input& only_input(const std::vector<Input>& inputs, std::string_view kind,
                        std::string_view instead) {
  std::vector<std::string> names;
  for (const Input& input : inputs) names.push_back(input.name);
  require(inputs.size() == 1, kind, " gives one input, but the signature has ", join(names, ", "),
          "; ", instead);
  return inputs[0];
}

class Reader {
 public:
  Reader(const Predictor& predictor, const PredictInputs& options, const UseBatch& use)
      : predictor_(predictor),
        options_(options),
        use_(use),
        inputs_(inputs_of(predictor, options.signature)),
        preparation_(predictor, options.signature, inputs_) {}

  void read_images(std::span<const std::string> paths) {
    const Input& input =
        only_input(inputs_, "an image", "put several into one .npz or into tf.train.Examples");
    std::vector<Array> images;
    for (const std::string& path : paths) images.push_back(image(path, input.type));
    use_({{input.name, stack_rows(images, input.type)}}, {paths.begin(), paths.end()});
  }
  void read_npy(const std::string& path) {
    const Input& input = only_input(inputs_, "an .npy file", "use one .npz with an array for each");
    read_arrays(path, {{input.name, data::read_npy(path)}});
  }
  void read_npz(const std::string& path) {
    std::vector<std::string> names;
    for (const Input& input : inputs_) names.push_back(input.name);
    read_arrays(path, data::read_npz(path, names));
  }
  void read_csv(const std::string& path);
  void read_records(const std::string& path);

 private:
  Array image(const std::string& path, const TensorType& type);
  Features csv_row(const Features& record, const std::string& origin);
  void use_rows(std::span<const Features> rows, const std::vector<std::string>& origins);
  void read_arrays(const std::string& path, const Features& arrays);
  std::size_t most_rows() const { return options_.batch; }

  const Predictor& predictor_;
  const PredictInputs& options_;
  const UseBatch& use_;
  std::vector<Input> inputs_;
  Preparation preparation_;
};

Array Reader::image(const std::string& path, const TensorType& type) {
  const Shape& shape = type.shape;
  bool takes_images = shape.rank() == 3 && (shape[2] == 1 || shape[2] == 3 || shape[2] == 4)
                      && (is_floating(type.dtype) || type.dtype == DType::u8);
  require(takes_images, path, ": an image cannot be the input ", type, " of one example");
  std::string file = read_file(path);
  data::ImageOptions wanted{.channels = static_cast<int>(shape[2])};
  Array decoded = data::decode_image(std::as_bytes(std::span(file)), wanted, path);
  if (preparation_) {
    require(!options_.resize && !options_.raw, path,
            ": the export says how its images are prepared; leave --resize and --raw out");
    const std::string& input = inputs_[0].name;
    return with_context(path, [&] {
      return preparation_({{input, std::move(decoded)}}).at(input);
    });
  }
  Features image{{"image", std::move(decoded)}};
  const Shape& found = image.at("image").shape();
  PhiloxStream unused(philox_key(0, ""));
  if (found != shape) {
    require(options_.resize, path, ": the image has ", found[0], " x ", found[1],
            " pixels but the input has ", shape[0], " x ", shape[1], "; --resize resizes it");
    image = data::resize({.height = shape[0], .width = shape[1]})(image, unused);
  }
  if (is_floating(type.dtype) && !options_.raw) image = data::to_float()(image, unused);
  return image.at("image").cast(type.dtype);
}

void Reader::read_arrays(const std::string& path, const Features& arrays) {
  std::int64_t rows = -1;
  for (const auto& [name, array] : arrays) {
    require(array.shape().rank() > 0, path, ": `", name, "` is ", array.type(),
            ", which has no axis of rows");
    if (rows < 0) rows = array.shape()[0];
    require(array.shape()[0] == rows, path, ": `", name, "` has ", array.shape()[0],
            " rows, others have ", rows);
  }
  for (std::int64_t first = 0; first < rows; first += options_.batch) {
    std::int64_t count = std::min(options_.batch, rows - first);
    Features batch;
    for (const auto& [name, array] : arrays) batch.set(name, array.rows(first, count));
    std::vector<std::string> origins;
    for (std::int64_t i = 0; i < count; ++i) origins.push_back(concat(path, ":", first + i));
    with_context(path, [&] { use_(batch, origins); });
  }
}

data::CsvType csv_type(DType dtype) {
  if (dtype == DType::f64) return data::CsvType::f64;
  if (is_floating(dtype)) return data::CsvType::f32;
  if (dtype == DType::i64) return data::CsvType::i64;
  return dtype == DType::boolean ? data::CsvType::boolean : data::CsvType::i32;
}

// A column for each element of an input: `x`, or `x_0`, `x_1`, ... of one that has an axis.
std::vector<std::string> columns_of(const Input& input) {
  require(input.type.shape.rank() <= 1, "the input `", input.name, "` is ", input.type,
          " for one example; columns of a CSV file are for numbers and lists of them");
  if (input.type.shape.rank() == 0) return {input.name};
  constexpr std::int64_t most = 1 << 14;  // an export may say anything
  require(input.type.shape[0] <= most, "the input `", input.name, "` is ", input.type,
          " for one example; a CSV file gives at most ", most, " columns of it; use .npz");
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < input.type.shape[0]; ++i)
    names.push_back(concat(input.name, "_", i));
  return names;
}

// The inputs, from a feature for each column.
Features Reader::csv_row(const Features& record, const std::string& origin) {
  Features row;
  for (const Input& input : inputs_) {
    if (preparation_.takes_text(input.name)) {
      row.set(input.name, record.at(input.name));
      continue;
    }
    std::vector<Array> values;
    for (const std::string& name : columns_of(input)) values.push_back(record.at(name));
    TensorType one{{}, values.empty() ? input.type.dtype : values[0].dtype()};
    Array all = cast_exactly(stack_rows(values, one), input.type.dtype,
                             concat(origin, ": `", input.name, "`"));
    row.set(input.name, all.reshape(input.type.shape));
  }
  if (!preparation_) return row;
  return with_context(origin, [&] { return preparation_(std::move(row)); });
}

void Reader::use_rows(std::span<const Features> rows, const std::vector<std::string>& origins) {
  Features batch;
  for (const Input& input : inputs_) {
    std::vector<Array> values;
    for (const Features& row : rows) values.push_back(row.at(input.name));
    batch.set(input.name, stack_rows(values, input.type));
  }
  use_(batch, origins);
}

void Reader::read_csv(const std::string& path) {
  std::vector<data::CsvColumn> columns;
  for (const Input& input : inputs_) {
    if (preparation_.takes_text(input.name)) {
      columns.push_back({.name = input.name});
      continue;
    }
    for (const std::string& name : columns_of(input))
      columns.push_back({.name = name, .type = csv_type(input.type.dtype)});
  }
  data::CsvReader reader(columns, {}, path);
  std::string file = read_file(path);
  std::string_view rest = file;
  std::vector<Features> rows;
  std::vector<std::string> origins;
  std::int64_t number = 0;
  for (Features record; reader.next(rest, true, record);) {
    origins.push_back(concat(path, ":", number++));
    rows.push_back(csv_row(record, origins.back()));
    if (origins.size() == most_rows())
      use_rows(std::exchange(rows, {}), std::exchange(origins, {}));
  }
  if (!origins.empty()) use_rows(rows, origins);
}

void Reader::read_records(const std::string& path) {
  data::TfRecordReader reader(path);
  std::vector<std::byte> record;
  std::int64_t number = 0;
  for (bool more = true; more;) {
    std::vector<std::string> records, origins;
    std::vector<Features> prepared;
    while (origins.size() < most_rows() && (more = reader.next(record))) {
      origins.push_back(concat(path, ":", number++));
      if (preparation_)
        prepared.push_back(
            with_context(origins.back(), [&] { return preparation_(preparation_.parse(record)); }));
      else
        records.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
    }
    if (origins.empty()) continue;
    if (preparation_) {
      use_rows(prepared, origins);
      continue;
    }
    auto first = number - std::ssize(records);
    use_(with_context(concat(path, ", from record ", first, " on"),
                      [&] { return predictor_.parse_examples(records, options_.signature); }),
         origins);
  }
}

}  // namespace

void for_each_batch(const Predictor& predictor, const PredictInputs& inputs, const UseBatch& use) {
  std::vector<Kind> kinds;
  for (const std::string& path : inputs.paths) kinds.push_back(kind_of(path));
  Reader reader(predictor, inputs, use);
  for (std::size_t i = 0; i < kinds.size();) {
    std::size_t first = i++;
    const std::string& path = inputs.paths[first];
    if (kinds[first] == Kind::image) {
      while (i < kinds.size() && kinds[i] == Kind::image
             && i - first < static_cast<std::size_t>(inputs.batch))
        ++i;
      reader.read_images(std::span(inputs.paths).subspan(first, i - first));
    }
    if (kinds[first] == Kind::npy) reader.read_npy(path);
    if (kinds[first] == Kind::npz) reader.read_npz(path);
    if (kinds[first] == Kind::csv) reader.read_csv(path);
    if (kinds[first] == Kind::records) reader.read_records(path);
  }
}

}  // namespace belfry::programs
