#include "belfry/framework/train/state/warm_start_recurrent.h"

#include <array>
#include <cstring>
#include <regex>

namespace belfry {
namespace {

// Columns [.., gates units] with the first two of three gates changed.
Array update_first(const Array& x) {
  Array out = x.clone();
  std::int64_t width = x.shape()[x.shape().rank() - 1], units = width / 3,
               bytes = units * size_of(x.dtype());
  for (std::int64_t row = 0; row < x.elements() / width; ++row) {
    auto* to = out.raw_bytes().data() + row * 3 * bytes;
    const auto* from = x.raw_bytes().data() + row * 3 * bytes;
    std::memcpy(to, from + bytes, bytes);
    std::memcpy(to + bytes, from, bytes);
  }
  return out;
}

Array sum(const Array& a, const Array& b) {
  Array out = a.cast(DType::f64), other = b.cast(DType::f64);
  auto terms = other.span<double>().begin();
  for (double& x : out.span<double>()) x += *terms++;
  return out.cast(a.dtype());
}

// The same tensor's name with another word in front of the layer's number.
const Array* sibling(const NamedArrays& all, const std::smatch& name, const char* word) {
  auto found = all.find(concat(name[1].str(), word, name[3].str()));
  return found == all.end() ? nullptr : &found->second;
}

bool ends_with(const std::string& name, std::string_view word) {
  return name == word || name.ends_with(concat("/", word));
}

}  // namespace

std::optional<ConvertedValue> recurrent_value(const VariableOptions& wanted,
                                              const std::string& source_name, const Array& source,
                                              const NamedArrays& all, bool has_second_bias) {
  const Shape& shape = wanted.type.shape;
  bool first = ends_with(wanted.name, "bias"), second = ends_with(wanted.name, "recurrent_bias");
  if ((first || second) && has_second_bias && shape.rank() == 1
      && source.shape() == Shape{2, shape[0]})
    return ConvertedValue{.value = source.rows(second ? 1 : 0, 1).reshape(shape),
                          .how = second ? "second of two rows" : "first of two rows"};
  static const std::regex form(R"((.*)(weight_ih|weight_hh|bias_ih|bias_hh)(_l[0-9]+(_reverse)?))");
  std::smatch name;
  if (!std::regex_match(source_name, name, form)) return std::nullopt;
  const Array* states = sibling(all, name, "weight_hh");
  if (!states || states->shape().rank() != 2 || states->shape().elements() == 0)
    return std::nullopt;
  std::int64_t gates = states->shape()[0] / states->shape()[1];
  bool matrix = name[2].str().starts_with("weight");
  if (source.shape().rank() != (matrix ? 2 : 1) || source.shape().elements() == 0
      || source.shape()[0] != states->shape()[0])
    return std::nullopt;
  ConvertedValue out{.value = source, .how = {}};
  const char* beside = name[2] == "bias_ih" ? "bias_hh" : "bias_ih";
  if (matrix) {
    out.value = permute(source, std::array<std::int64_t, 2>{1, 0});
    out.how = "transposed";
  } else if (const Array* other = sibling(all, name, beside);
             other && first && !has_second_bias && other->shape() == source.shape()) {
    out.value = sum(source, *other);
    out.how = concat("plus ", beside);
    out.also = concat(name[1].str(), beside, name[3].str());
  }
  if (gates == 3 && states->shape()[0] % 3 == 0) {
    out.value = update_first(out.value);
    out.how += out.how.empty() ? "gates in order" : ", gates in order";
  }
  return out;
}

}  // namespace belfry
