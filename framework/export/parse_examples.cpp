#include "belfry/framework/export/parse_examples.h"

#include <algorithm>
#include <set>

#include "belfry/framework/tensor/array.h"
#include "belfry/framework/tensor/example.h"

namespace belfry {

namespace saved {
namespace {

// An input and where it comes from.
struct Column {
  std::string input, feature;
  TensorType type;  // of one example
  StoredAs stored = StoredAs::floats;
  ExampleInput how;

  bool is_u8() const { return stored == StoredAs::bytes || stored == StoredAs::image; }
  DType stored_type() const {
    if (is_u8()) return DType::u8;
    return stored == StoredAs::floats ? DType::f32 : DType::i64;
  }
};

StoredAs usual(DType dtype) {
  if (is_floating(dtype)) return StoredAs::floats;
  return dtype == DType::u8 ? StoredAs::bytes : StoredAs::integers;
}

TensorType type_of_one(const Type& type) {
  const auto& sizes = type.sizes;
  bool rows = !sizes.empty() && sizes[0] == rows_of_batch
              && std::none_of(sizes.begin() + 1, sizes.end(),
                              [](const Extent& size) { return size.follows_batch(); });
  require(rows, "it is ", type, ", but must be one row an example, of a fixed size");
  const Shape& shape = type.at({}).shape;
  return {Shape(std::span(shape.begin() + 1, shape.end())), type.dtype};
}

void check(const Column& c) {
  require(c.stored == usual(c.type.dtype) || c.stored != StoredAs::floats,
          "floats cannot be read as ", c.type.dtype);
  require(!c.is_u8() || is_floating(c.type.dtype) || c.type.dtype == DType::u8, to_string(c.stored),
          " are read as u8 or a floating type");
  require(c.how.unit >= 1e-6 && c.how.unit <= 1e12, "unit must be from 1e-6 to 1e12, got ",
          c.how.unit);
  if (c.stored == StoredAs::image) {
    int rank = c.type.shape.rank();
    std::int64_t channels = rank == 3 ? c.type.shape[2] : 0;
    require(channels == 1 || channels == 3 || channels == 4,
            "images are [h, w, 1 | 3 | 4], but one example is ", c.type);
  }
  if (c.how.default_value && c.stored != StoredAs::floats) {
    Array value = Array::scalar(*c.how.default_value);
    require(identical(value.cast(c.stored_type()).cast(DType::f64), value), "the default ",
            *c.how.default_value, " is no ", c.stored_type());
  }
}

Column column_of(const Node& node, const Signature& signature) {
  Column c;
  c.input = std::get<std::string>(node.option("name"));
  return with_context(concat("input `", c.input, "` from tf.train.Examples"), [&] {
    auto found = signature.examples.find(c.input);
    if (found != signature.examples.end()) c.how = found->second;
    c.feature = c.how.feature.empty() ? c.input : c.how.feature;
    c.type = type_of_one(node.outputs[0]);
    c.stored = c.how.stored.value_or(usual(c.type.dtype));
    check(c);
    return c;
  });
}

std::vector<Column> columns_of(const Signature& signature) {
  std::vector<Column> columns;
  std::set<std::string> features;
  for (const Node* input : signature.inputs()) {
    columns.push_back(column_of(*input, signature));
    require(features.insert(columns.back().feature).second, "the feature `", columns.back().feature,
            "` of tf.train.Examples is read for two inputs");
  }
  return columns;
}

Array default_of(const Column& c) {
  if (!c.how.default_value) return {};
  return Array::scalar(*c.how.default_value).cast(c.stored_type());
}

tf::ExampleSpec spec_of(const std::vector<Column>& columns) {
  tf::ExampleSpec spec;
  for (const Column& c : columns) {
    if (c.stored == StoredAs::image)
      spec.emplace_back(c.feature, tf::VarLen{DType::u8});
    else
      spec.emplace_back(c.feature, tf::FixedLen{c.type.shape, c.stored_type(), default_of(c)});
  }
  return spec;
}

Array image_of(const Array& file, const Column& c, const DecodeImage& decode) {
  TensorType wanted{c.type.shape, DType::u8};
  if (file.elements() == 0) {
    require(c.how.default_value, "it is missing or empty");
    Array image(wanted);
    std::ranges::fill(image.span<std::uint8_t>(), static_cast<std::uint8_t>(*c.how.default_value));
    return image;
  }
  require(decode, "it is an image file; set PredictorOptions::decode_image");
  Array image = decode(file.raw_bytes(), wanted.shape[2]);
  require(image.type() == wanted, "the image is ", image.type(), ", expected ", wanted,
          "; images are not resized");
  return image;
}

// Whether `converted` has the numbers of `integers`. Numbers at the ends become 2^63 or infinity,
// which cast back to themselves.
bool holds(const Array& converted, const Array& integers) {
  if (is_floating(converted.dtype())) {
    Array numbers = converted.cast(DType::f64);
    if (!std::ranges::all_of(numbers.span<double>(),
                             [](double x) { return x >= -0x1p63 && x < 0x1p63; }))
      return false;
  }
  return identical(converted.cast(DType::i64), integers);
}

// An array of the input's type, from the one that an Example holds.
Array converted(const Array& stored, const Column& c) {
  if (c.is_u8() && is_floating(c.type.dtype)) {
    Array out(c.type.shape, DType::f32);
    std::ranges::transform(
        stored.span<std::uint8_t>(), out.span<float>().begin(),
        [unit = static_cast<float>(c.how.unit)](std::uint8_t x) { return x / unit; });
    return out.cast(c.type.dtype);
  }
  Array out = stored.cast(c.type.dtype);
  require(c.stored != StoredAs::integers || holds(out, stored), "it has numbers that ",
          c.type.dtype, " cannot hold");
  return out;
}

}  // namespace

void check_examples(const Signature& signature) {
  if (signature.examples.empty()) return;
  std::vector<std::string> inputs;
  for (const Column& c : columns_of(signature)) inputs.push_back(c.input);
  for (const auto& [name, how] : signature.examples)
    require(std::find(inputs.begin(), inputs.end(), name) != inputs.end(),
            "tf.train.Examples are to be read for `", name, "`, which is no input; there are ",
            join(inputs, ", "));
}

Features parse_examples(std::span<const std::string> serialized, const Signature& signature,
                        const DecodeImage& decode) {
  const std::vector<Column> columns = columns_of(signature);
  const tf::ExampleSpec spec = spec_of(columns);
  std::vector<std::vector<Array>> rows(columns.size());
  for (std::size_t i = 0; i < serialized.size(); ++i) {
    with_context(concat("example ", i), [&] {
      Features example = tf::parse_example(std::as_bytes(std::span(serialized[i])), spec);
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const Column& c = columns[k];
        with_context(concat("feature `", c.feature, "`"), [&] {
          Array stored = example.at(c.feature);
          if (c.stored == StoredAs::image) stored = image_of(stored, c, decode);
          rows[k].push_back(converted(stored, c));
        });
      }
    });
  }
  Features batch;
  for (std::size_t k = 0; k < columns.size(); ++k)
    batch.set(columns[k].input, stack_rows(rows[k], columns[k].type));
  return batch;
}

}  // namespace saved
}  // namespace belfry
