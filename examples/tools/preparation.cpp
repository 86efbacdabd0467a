#include "tools/preparation.h"

#include <algorithm>
#include <utility>

#include "belfry/data/formats/images/image.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/json.h"
#include "belfry/framework/tensor/example.h"

namespace belfry::programs {
namespace {

// The features that string_lookup takes, wherever it stands in the preparation.
void find_texts(const JsonValue& json, std::set<std::string>& texts) {
  if (json.is_list())
    for (const JsonValue& one : json.elements()) find_texts(one, texts);
  if (!json.is_object()) return;
  std::optional<JsonValue> name = json.member("name"), feature = json.member("feature");
  if (name && name->is_text() && name->words() == "string_lookup" && feature)
    texts.insert(feature->words());
  for (const std::string& key : json.keys()) find_texts(*json.member(key), texts);
}

StoredAs usual(DType dtype) {
  if (dtype == DType::u8) return StoredAs::bytes;
  return is_floating(dtype) ? StoredAs::floats : StoredAs::integers;
}

DType stored_type(StoredAs stored) {
  if (stored == StoredAs::floats) return DType::f32;
  return stored == StoredAs::integers ? DType::i64 : DType::u8;
}

Array text_in(std::span<const std::byte> example, const std::string& feature) {
  Features found = tf::parse_example(example, {{feature, tf::StringList{}}});
  require(found.at(feature + "/lengths").elements() == 1, "feature `", feature,
          "`: expected one string, got ", found.at(feature + "/lengths").elements());
  return found.at(feature + "/values");
}

// The pixels of an image, of whatever size; the bytes that are stored; or numbers.
Array stored_in(std::span<const std::byte> example, const ExampleInput& how,
                const TensorType& type) {
  StoredAs stored = how.stored.value_or(usual(type.dtype));
  if (stored == StoredAs::image) {
    Array file = text_in(example, how.feature);
    return data::decode_image(std::as_const(file).raw_bytes(),
                              {.channels = static_cast<int>(type.shape[2])},
                              concat("feature `", how.feature, "`"));
  }
  DType dtype = stored_type(stored);
  Array missing;
  if (how.default_value) missing = Array::scalar(*how.default_value).cast(dtype);
  tf::FixedLen fixed{type.shape, dtype, missing};
  Array value = tf::parse_example(example, {{how.feature, fixed}}).at(how.feature);
  return stored == StoredAs::bytes
             ? value
             : cast_exactly(value, type.dtype, concat("feature `", how.feature, "`"));
}

}  // namespace

Array cast_exactly(const Array& numbers, DType dtype, std::string_view where) {
  Array out = numbers.cast(dtype);
  if (is_floating(numbers.dtype())) return out;
  // Beyond 2^63, and infinite, a float cannot be cast back.
  const Array wide = out.cast(DType::f64);
  bool within =
      std::ranges::all_of(wide.span<double>(), [](double x) { return x >= -0x1p63 && x < 0x1p63; });
  require(within && identical(out.cast(numbers.dtype()), numbers), where, " has numbers that ",
          dtype, " cannot hold");
  return out;
}

Preparation::Preparation(const Predictor& predictor, const std::string& signature,
                         std::vector<Input> inputs)
    : inputs_(std::move(inputs)), examples_(predictor.examples(signature)) {
  const std::string& json = predictor.preparation(signature);
  if (json.empty()) return;
  with_context("the export's preparation", [&] {
    prepare_ = data::augmentation_from_json(json);
    find_texts(JsonValue::parse(json, "preparation"), texts_);
  });
}

Features Preparation::operator()(Features raw) const {
  Features prepared = prepare_->apply(std::move(raw)), out;
  for (const Input& input : inputs_) {
    const Array& value = prepared.at(input.name);
    require(value.type() == input.type, "the export's preparation gives ", value.type(),
            ", but the input `", input.name, "` is ", input.type);
    out.set(input.name, value);
  }
  return out;
}

Features Preparation::parse(std::span<const std::byte> example) const {
  Features raw;
  for (const Input& input : inputs_) {
    auto found = examples_.find(input.name);
    ExampleInput how = found == examples_.end() ? ExampleInput{} : found->second;
    if (how.feature.empty()) how.feature = input.name;
    raw.set(input.name, takes_text(input.name) ? text_in(example, how.feature)
                                               : stored_in(example, how, input.type));
  }
  return raw;
}

}  // namespace belfry::programs
