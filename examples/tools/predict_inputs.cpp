#include "tools/predict_inputs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <span>

#include "belfry/data/augment/augment.h"
#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/data/formats/csv.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/data/formats/tfrecord.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/array.h"

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

// An input of the signature, without the axis of the rows.
struct Input {
  std::string name;
  TensorType type;
};

std::vector<Input> inputs_of(const Predictor& predictor, const std::string& signature) {
  std::vector<Input> inputs;
  for (const auto& [name, type] : predictor.inputs(signature)) {
    require(!type.sizes.empty() && type.sizes[0] == saved::Extent{0, 1}, "the input `", name,
            "` is ", type, ", whose first axis is not that of the rows");
    const Shape& shape = type.at(1).shape;
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
        preparation_(predictor.preparation(options.signature)) {}

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
  Array prepared(Array decoded, const std::string& path);
  void read_arrays(const std::string& path, const Features& arrays);
  std::size_t most_rows() const { return options_.batch; }

  const Predictor& predictor_;
  const PredictInputs& options_;
  const UseBatch& use_;
  std::vector<Input> inputs_;
  const std::string& preparation_;
  std::optional<data::Augmentation> prepare_;  // once an image has come
};

Array Reader::image(const std::string& path, const TensorType& type) {
  const Shape& shape = type.shape;
  bool takes_images = shape.rank() == 3 && (shape[2] == 1 || shape[2] == 3 || shape[2] == 4)
                      && (is_floating(type.dtype) || type.dtype == DType::u8);
  require(takes_images, path, ": an image cannot be the input ", type, " of one example");
  std::string file = read_file(path);
  data::ImageOptions wanted{.channels = static_cast<int>(shape[2])};
  Array decoded = data::decode_image(std::as_bytes(std::span(file)), wanted, path);
  if (!preparation_.empty()) return prepared(std::move(decoded), path);
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

// As the training's input pipeline did it.
Array Reader::prepared(Array decoded, const std::string& path) {
  require(!options_.resize && !options_.raw, path,
          ": the export says how its images are prepared; leave --resize and --raw out");
  const Input& input = inputs_[0];
  if (!prepare_)
    prepare_ = with_context("the export's preparation",
                            [&] { return data::augmentation_from_json(preparation_); });
  return with_context(path, [&] {
    Features out = prepare_->apply({{input.name, std::move(decoded)}});
    const Array& image = out.at(input.name);
    require(image.type() == input.type, "the export's preparation gives ", image.type(),
            ", but the input `", input.name, "` is ", input.type);
    return image;
  });
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
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < input.type.shape[0]; ++i)
    names.push_back(concat(input.name, "_", i));
  return names;
}

void Reader::read_csv(const std::string& path) {
  std::vector<data::CsvColumn> columns;
  for (const Input& input : inputs_)
    for (const std::string& name : columns_of(input))
      columns.push_back({.name = name, .type = csv_type(input.type.dtype)});
  data::CsvReader reader(columns, {}, path);
  std::string file = read_file(path);
  std::string_view rest = file;
  std::vector<std::vector<Array>> rows(inputs_.size());
  std::vector<std::string> origins;
  std::int64_t number = 0;
  auto flush = [&] {
    Features batch;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      batch.set(inputs_[i].name, stack_rows(std::exchange(rows[i], {}), inputs_[i].type));
    use_(batch, std::exchange(origins, {}));
  };
  for (Features record; reader.next(rest, true, record);) {
    origins.push_back(concat(path, ":", number++));
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      std::vector<Array> values;
      for (const std::string& name : columns_of(inputs_[i])) values.push_back(record.at(name));
      TensorType one{{}, values.empty() ? inputs_[i].type.dtype : values[0].dtype()};
      Array all = stack_rows(values, one), row = all.cast(inputs_[i].type.dtype);
      require(identical(row.cast(all.dtype()), all) || is_floating(all.dtype()), path, ": `",
              inputs_[i].name, "` of ", origins.back(), " has numbers that ", inputs_[i].type.dtype,
              " cannot hold");
      rows[i].push_back(row.reshape(inputs_[i].type.shape));
    }
    if (origins.size() == most_rows()) flush();
  }
  if (!origins.empty()) flush();
}

void Reader::read_records(const std::string& path) {
  data::TfRecordReader reader(path);
  std::vector<std::byte> record;
  std::int64_t number = 0;
  for (bool more = true; more;) {
    std::vector<std::string> records, origins;
    while (records.size() < most_rows() && (more = reader.next(record))) {
      records.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
      origins.push_back(concat(path, ":", number++));
    }
    if (records.empty()) continue;
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
