#include "belfry/data/grouping/padding.h"

#include <algorithm>
#include <cstring>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

using Sizes = std::span<const std::int64_t>;

std::size_t elements(Sizes sizes) {
  std::size_t out = 1;
  for (std::int64_t size : sizes) out *= size;
  return out;
}

// A block into the corner of one that is as large or larger; `unit` is the size of an element.
void copy_block(const std::byte* from, Sizes from_sizes, std::byte* to, Sizes to_sizes,
                std::size_t unit) {
  if (from_sizes.empty()) {
    std::memcpy(to, from, unit);
    return;
  }
  Sizes from_inner = from_sizes.subspan(1), to_inner = to_sizes.subspan(1);
  std::size_t from_step = elements(from_inner) * unit, to_step = elements(to_inner) * unit;
  std::size_t count = from_sizes[0];
  if (std::equal(from_inner.begin(), from_inner.end(), to_inner.begin())) {
    std::memcpy(to, from, count * from_step);
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
    copy_block(from + i * from_step, from_inner, to + i * to_step, to_inner, unit);
}

void fill(Array& batch, std::int64_t row, double value, const std::string& name) {
  Array element = Array::scalar(value).cast(batch.dtype());
  require(is_floating(batch.dtype()) || element.item() == value,
          "cannot pad and batch: ", batch.dtype(), " `", name, "` cannot hold the padding ", value);
  std::size_t count = batch.elements() / batch.shape()[0];
  dispatch(batch.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto rows = batch.span<T>().subspan(row * count, count);
    std::fill(rows.begin(), rows.end(), element.span<T>()[0]);
  });
}

// Widens `type` to hold row `index` too.
void widen(Signature& type, const Features& row, std::int64_t index, const Features& first) {
  bool same_names =
      std::equal(row.begin(), row.end(), type.begin(), type.end(),
                 [](const auto& item, const auto& wanted) { return item.first == wanted.first; });
  require(same_names, "cannot pad and batch: row 0 is (", to_string(signature_of(first)), "), row ",
          index, " is (", to_string(signature_of(row)), ")");
  auto wanted = type.begin();
  for (const auto& [name, array] : row) {
    TensorType& t = (wanted++)->second;
    require(array.dtype() == t.dtype && array.shape().rank() == t.shape.rank(),
            "cannot pad and batch: row 0 has ", name, " ", first.at(name).type(), ", row ", index,
            " has ", name, " ", array.type());
    for (int axis = 0; axis < t.shape.rank(); ++axis)
      if (array.shape()[axis] > t.shape[axis]) t.shape = t.shape.with(axis, array.shape()[axis]);
  }
}

}  // namespace

PaddedStack::PaddedStack(PaddedBatchOptions options, const char* what)
    : options_(std::move(options)) {
  for (const auto& [name, multiple] : options_.multiple_of)
    require(multiple >= 1, what, ": multiple_of must be at least 1, got ", multiple, " for `", name,
            "`");
  for (const auto& [name, sizes] : options_.pad_to)
    for (std::int64_t size : sizes)
      require(size >= -1, what, ": sizes in pad_to must be at least 0, or -1 for the longest; got ",
              size, " for `", name, "`");
}

void PaddedStack::stack(std::span<const Element> rows, Features& out) {
  Signature type = padded_type(rows);
  Signature batch = stacked(type, std::ssize(rows));
  for (const auto& [feature, name] : options_.lengths) {
    require(rows[0].features.at(feature).shape().rank() >= 1, "cannot pad and batch: `", feature,
            "` is a scalar and has no length");
    for (const auto& item : batch)
      require(item.first != name, "cannot pad and batch: there are two features `", name,
              "`; give the lengths of `", feature, "` another name");
    batch.emplace_back(name, TensorType{Shape{std::ssize(rows)}, DType::i64});
  }
  ring_.acquire(batch, out);
  auto target = out.begin();
  for (std::size_t f = 0; f < type.size(); ++f, ++target)
    for (std::size_t i = 0; i < rows.size(); ++i)
      put((rows[i].features.begin() + f)->second, i, target->first, target->second);
  for (const auto& [feature, name] : options_.lengths) {
    auto lengths = (target++)->second.span<std::int64_t>();
    for (std::size_t i = 0; i < rows.size(); ++i)
      lengths[i] = rows[i].features.at(feature).shape()[0];
  }
}

// The signature that every row is padded to.
Signature PaddedStack::padded_type(std::span<const Element> rows) const {
  check_names(rows[0].features);
  Signature type = signature_of(rows[0].features);
  for (std::size_t i = 1; i < rows.size(); ++i) widen(type, rows[i].features, i, rows[0].features);
  for (auto& [name, t] : type) settle(name, t);
  return type;
}

void PaddedStack::settle(const std::string& name, TensorType& type) const {
  std::vector<std::int64_t> sizes(type.shape.begin(), type.shape.end());
  bool fixed_length = false;
  if (auto wanted = options_.pad_to.find(name); wanted != options_.pad_to.end()) {
    require(wanted->second.size() <= sizes.size(), "cannot pad and batch: pad_to has ",
            wanted->second.size(), " sizes for ", name, " ", type);
    for (std::size_t axis = 0; axis < wanted->second.size(); ++axis) {
      std::int64_t size = wanted->second[axis];
      if (size < 0) continue;
      require(sizes[axis] <= size, "cannot pad and batch: ", name, " ", type,
              " is the longest in the batch, pad_to has [", join(wanted->second, ", "), "]");
      sizes[axis] = size;
      fixed_length = fixed_length || axis == 0;
    }
  }
  if (auto unit = options_.multiple_of.find(name);
      unit != options_.multiple_of.end() && !fixed_length) {
    require(!sizes.empty(), "cannot pad and batch: `", name,
            "` is a scalar, but multiple_of names it");
    std::int64_t over = sizes[0] % unit->second;
    if (over > 0) sizes[0] += unit->second - over;
  }
  type.shape = Shape(sizes);
}

void PaddedStack::check_names(const Features& row) const {
  auto check = [&](const auto& options) {
    for (const auto& option : options) row.at(option.first);  // an Error if there is none
  };
  check(options_.padding);
  check(options_.pad_to);
  check(options_.multiple_of);
  check(options_.lengths);
}

void PaddedStack::put(const Array& row, std::int64_t index, const std::string& name,
                      Array& batch) const {
  Sizes padded = batch.shape().sizes().subspan(1);
  if (!std::equal(padded.begin(), padded.end(), row.shape().begin())) {
    auto value = options_.padding.find(name);
    fill(batch, index, value == options_.padding.end() ? options_.default_padding : value->second,
         name);
  }
  std::size_t unit = size_of(row.dtype());
  std::byte* to = batch.raw_bytes().data() + index * elements(padded) * unit;
  copy_block(row.raw_bytes().data(), row.shape().sizes(), to, padded, unit);
}

}  // namespace belfry::data
