#include <algorithm>
#include <charconv>

#include "belfry/framework/export/predictor.h"

namespace belfry::saved {
namespace {

// The whole number that `text` is.
std::int64_t number(std::string_view text, std::string_view all) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(!text.empty() && error == std::errc() && end == text.data() + text.size(), "`", all,
          "` is no size; expected a whole number, or one like n, 49*n or 2*n+1");
  return value;
}

}  // namespace

std::int64_t Extent::at(std::int64_t rows) const {
  std::int64_t product = 0, sum = 0;
  bool overflow = __builtin_mul_overflow(per_row, rows, &product)
                  || __builtin_add_overflow(product, fixed, &sum);
  require(!overflow, to_string(*this), " is beyond 64 bits for n = ", rows);
  return sum;
}

std::string to_string(const Extent& extent) {
  if (!extent.follows_batch()) return text(extent.fixed);
  std::string out = extent.per_row == 1 ? "n" : concat(extent.per_row, "*n");
  if (extent.fixed > 0) out += "+";
  return extent.fixed == 0 ? out : out + text(extent.fixed);
}

Extent extent_from_string(std::string_view text) {
  std::size_t n = text.find('n');
  if (n == std::string_view::npos) return {number(text, text), 0};
  Extent extent{0, 1};
  std::string_view factor = text.substr(0, n), term = text.substr(n + 1);
  if (!factor.empty()) {
    require(factor.ends_with('*'), "`", text, "` is no size; write 2*n, not 2n");
    extent.per_row = number(factor.substr(0, factor.size() - 1), text);
  }
  if (term.starts_with('+')) term.remove_prefix(1);
  if (n + 1 < text.size()) extent.fixed = number(term, text);
  return extent;
}

TensorType Type::at(std::int64_t rows) const {
  std::vector<std::int64_t> shape;
  for (const Extent& size : sizes) shape.push_back(size.at(rows));
  return {Shape(shape), dtype};
}

bool Type::follows_batch() const {
  return std::any_of(sizes.begin(), sizes.end(), [](const Extent& e) { return e.follows_batch(); });
}

std::string to_string(const Type& type) {
  return concat(type.dtype, "[", join(type.sizes, ", "), "]");
}

Type type_from_string(std::string_view text) {
  std::size_t open = text.find('[');
  require(open != std::string_view::npos && text.ends_with(']'), "`", text,
          "` is no type; expected one like f32[n, 28, 28, 1]");
  Type type{{}, dtype_from_string(text.substr(0, open))};
  std::string_view sizes = text.substr(open + 1, text.size() - open - 2);
  while (!sizes.empty()) {
    std::size_t end = std::min(sizes.find(", "), sizes.size());
    type.sizes.push_back(extent_from_string(sizes.substr(0, end)));
    require(type.sizes.size() <= Shape::max_rank, "`", text.substr(0, 80), "` has more than ",
            Shape::max_rank, " axes");
    if (end == sizes.size()) break;
    sizes.remove_prefix(end + 2);
    require(!sizes.empty(), "`", text, "` ends with a comma");
  }
  return type;
}

}  // namespace belfry::saved
