#include "belfry/framework/train/state/warm_start_values.h"

#include <cstring>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/array.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry {
namespace {

std::string_view last_part(std::string_view name) {
  std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

bool has_layout_of_pytorch(const WarmStart& options, const VariableOptions& wanted,
                           const std::string& source_name) {
  if (last_part(wanted.name) != "kernel" || wanted.type.shape.rank() < 2) return false;
  return options.layout == KernelLayout::pytorch
         || (options.layout == KernelLayout::by_name && source_name.ends_with("weight"));
}

// [out, in, ...] as [..., in, out].
Array outputs_last(const Array& kernel) {
  std::vector<std::int64_t> order(kernel.shape().rank());
  std::iota(order.begin(), order.end(), 2);
  order[order.size() - 2] = 1;
  order[order.size() - 1] = 0;
  return permute(kernel, order);
}

// [units, c * h * w] of an image [h, w, c] as [h * w * c, units].
std::optional<Array> rows_of_image(const Array& kernel, const Shape& image,
                                   const std::string& variable) {
  require(image.rank() == 3, "warm start: flattened: the image before `", variable, "` is ", image,
          ", expected [h, w, c]");
  if (kernel.shape().rank() != 2 || kernel.shape()[1] != image.elements()) return std::nullopt;
  std::int64_t units = kernel.shape()[0];
  return outputs_last(kernel.reshape({units, image[2], image[0], image[1]}))
      .reshape({image.elements(), units});
}

// A depthwise kernel has an input channel in PyTorch: [h, w, 1, c * m] is [h, w, c, m].
bool is_depthwise(const Shape& from, const Shape& to) {
  int rank = to.rank();
  if (from.rank() != rank || rank < 3 || from[rank - 2] != 1) return false;
  for (int axis = 0; axis < rank - 2; ++axis)
    if (from[axis] != to[axis]) return false;
  return from.elements() == to.elements();
}

bool converts(DType from, DType to) {
  auto is_integer = [](DType d) { return !is_floating(d) && d != DType::boolean; };
  return (is_floating(from) && is_floating(to)) || (is_integer(from) && is_integer(to));
}

// The number of each token, which is that of its line.
std::unordered_map<std::string, std::int64_t> read_tokens(const std::string& path) {
  std::string file = read_file(path);
  std::unordered_map<std::string, std::int64_t> out;
  for (std::size_t begin = 0; begin < file.size();) {
    std::size_t end = std::min(file.find('\n', begin), file.size());
    std::string token = file.substr(begin, end - begin);
    if (token.ends_with('\r')) token.pop_back();
    std::int64_t line = out.size();
    auto [first, is_new] = out.emplace(token, line);
    require(is_new, "vocabulary `", path, "`: line ", line + 1, " has the token `", token,
            "` of line ", first->second + 1);
    begin = end + 1;
  }
  return out;
}

}  // namespace

std::optional<ConvertedValue> convert_value(const WarmStart& options, const VariableOptions& wanted,
                                            const std::string& source_name, const Array& source) {
  ConvertedValue out{.value = source, .how = {}};
  auto note = [&](const std::string& what) { out.how += (out.how.empty() ? "" : ", ") + what; };
  if (has_layout_of_pytorch(options, wanted, source_name)) {
    if (auto image = options.flattened.find(wanted.name); image != options.flattened.end()) {
      auto rows = rows_of_image(source, image->second, wanted.name);
      if (!rows) return std::nullopt;
      out.value = *rows;
      note("transposed, channels last");
    } else if (source.shape().rank() == wanted.type.shape.rank()) {
      out.value = outputs_last(source);
      note("transposed");
      if (is_depthwise(out.value.shape(), wanted.type.shape))
        out.value = out.value.reshape(wanted.type.shape);
    }
  }
  return with_type_of(wanted, std::move(out));
}

std::optional<ConvertedValue> with_type_of(const VariableOptions& wanted, ConvertedValue value) {
  DType from = value.value.dtype(), to = wanted.type.dtype;
  if (from == to) return value;
  if (!converts(from, to)) return std::nullopt;
  value.value = value.value.cast(to);
  value.how += concat(value.how.empty() ? "" : ", ", from, " to ", to);
  return value;
}

std::optional<ConvertedValue> take_tokens(const WarmStartVocabulary& vocabulary,
                                          const VariableOptions& wanted, const Array& source,
                                          std::uint64_t seed) {
  const Shape& shape = wanted.type.shape;
  require(vocabulary.axis >= 0 && vocabulary.axis < shape.rank(), "warm start: vocabulary of `",
          wanted.name, "`: there is no axis ", vocabulary.axis, " of ", shape);
  if (source.shape().rank() != shape.rank()) return std::nullopt;
  std::int64_t rows = shape[vocabulary.axis], old_rows = source.shape()[vocabulary.axis];
  if (source.shape().with(vocabulary.axis, rows) != shape) return std::nullopt;
  auto tokens = read_tokens(vocabulary.tokens), old_tokens = read_tokens(vocabulary.old_tokens);
  auto check = [&](const auto& some, std::int64_t most, const std::string& path) {
    require(std::ssize(some) <= most, "vocabulary `", path, "` has ", some.size(), " tokens, but ",
            "axis ", vocabulary.axis, " of `", wanted.name, "` has ", most,
            most == rows ? " rows" : " rows in the source");
  };
  check(tokens, rows, vocabulary.tokens);
  check(old_tokens, old_rows, vocabulary.old_tokens);

  Array out = Array::zeros(shape, wanted.type.dtype);
  wanted.initializer.fill(out, philox_key(seed, wanted.name));
  std::int64_t size = size_of(wanted.type.dtype);
  std::int64_t outer = 1, inner = size;  // bytes of a row
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (axis != vocabulary.axis) (axis < vocabulary.axis ? outer : inner) *= shape[axis];
  std::int64_t taken = 0;
  for (const auto& [token, row] : tokens) {
    auto old = old_tokens.find(token);
    if (old == old_tokens.end()) continue;
    ++taken;
    for (std::int64_t i = 0; i < outer && inner > 0; ++i)
      std::memcpy(out.raw_bytes().data() + (i * rows + row) * inner,
                  source.raw_bytes().data() + (i * old_rows + old->second) * inner, inner);
  }
  return ConvertedValue{
      out, concat(taken, " of ", rows, vocabulary.axis == 0 ? " rows" : " columns", " by token")};
}

}  // namespace belfry
