#include <algorithm>
#include <array>
#include <charconv>

#include "belfry/framework/export/predictor.h"

namespace belfry::saved {
namespace {

// The whole number that `text` is.
std::int64_t number(std::string_view text, std::string_view all) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(!text.empty() && error == std::errc() && end == text.data() + text.size(), "`", all,
          "` is no size; expected a whole number, or one like n, 49*n, 2*n+1 or n*t");
  return value;
}

// A term is a multiple of one of these.
struct Unit {
  std::string_view name;
  std::int64_t Extent::*factor;
};
constexpr std::array<Unit, 3> units{
    {{"n*t", &Extent::per_row_and_step}, {"n", &Extent::per_row}, {"t", &Extent::per_step}}};

void add_term(Extent& extent, std::string_view term, std::string_view all) {
  std::int64_t Extent::*factor = &Extent::fixed;
  std::int64_t value = 1;
  std::string_view rest = term;
  for (const Unit& unit : units)
    if (rest.ends_with(unit.name)) {
      factor = unit.factor;
      rest.remove_suffix(unit.name.size());
      break;
    }
  if (factor == &Extent::fixed || !rest.empty()) {
    bool marked = factor == &Extent::fixed || rest.ends_with('*');
    require(marked, "`", all, "` is no size; write 2*n, not 2n");
    if (factor != &Extent::fixed) rest.remove_suffix(1);
    value = number(rest, all);
  }
  require(extent.*factor == 0, "`", all, "` is no size; write 2*n, not n+n");
  extent.*factor = value;
}

}  // namespace

std::int64_t Extent::at(const BatchSize& size) const {
  std::int64_t both = 0, sum = fixed;
  bool overflow = per_row_and_step != 0 && __builtin_mul_overflow(size.rows, size.steps, &both);
  auto add = [&](std::int64_t factor, std::int64_t of) {
    std::int64_t product = 0;
    overflow = __builtin_mul_overflow(factor, of, &product) || overflow;
    overflow = __builtin_add_overflow(sum, product, &sum) || overflow;
  };
  add(per_row, size.rows), add(per_step, size.steps), add(per_row_and_step, both);
  require(!overflow, to_string(*this), " is beyond 64 bits for n = ", size.rows,
          " and t = ", size.steps);
  return sum;
}

std::string to_string(const Extent& extent) {
  std::string out;
  auto add = [&](const std::string& term) {
    if (!out.empty() && !term.starts_with('-')) out += '+';
    out += term;
  };
  for (const Unit& unit : units) {
    std::int64_t factor = extent.*unit.factor;
    if (factor != 0) add(factor == 1 ? std::string(unit.name) : concat(factor, "*", unit.name));
  }
  if (extent.fixed != 0 || out.empty()) add(text(extent.fixed));
  return out;
}

Extent extent_from_string(std::string_view text) {
  Extent extent;
  for (std::string_view rest = text;;) {
    std::size_t end = std::min(rest.find_first_of("+-", 1), rest.size());
    add_term(extent, rest.substr(0, end), text);
    if (end == rest.size()) return extent;
    rest.remove_prefix(rest[end] == '+' ? end + 1 : end);
  }
}

TensorType Type::at(const BatchSize& batch) const {
  std::vector<std::int64_t> shape;
  for (const Extent& size : sizes) shape.push_back(size.at(batch));
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
