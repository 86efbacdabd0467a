#include "belfry/framework/tensor/array.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "belfry/framework/base/out_of_memory.h"
#include "belfry/framework/base/sole_owner.h"

namespace belfry {
namespace {

constexpr std::size_t alignment = 64;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

std::shared_ptr<void> allocate(std::int64_t bytes) {
  // aligned_alloc wants a multiple of the alignment; one unit even for empty arrays, so that
  // defined() holds for them.
  std::size_t size = (bytes + alignment) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, size);
  if (!memory)
    throw OutOfMemory(concat("out of host memory: could not allocate ", bytes_text(bytes)));
  return {memory, Free{}};
}

template <class T>
double as_double(T value) {
  if constexpr (std::is_same_v<compute_type<T>, float>) {
    return static_cast<float>(value);
  } else {
    return static_cast<double>(value);
  }
}

/// A plain static_cast is undefined for NaN and for values that `To` cannot hold.
template <class To, class From>
To truncate(From value) {
  if (value != value) return 0;
  constexpr auto lowest = std::numeric_limits<To>::lowest();
  constexpr auto highest = std::numeric_limits<To>::max();
  // highest + 1, a power of two and so exact
  constexpr From beyond = static_cast<From>(highest / 2 + 1) * 2;
  if (value >= beyond) return highest;
  if (value <= static_cast<From>(lowest)) return lowest;
  return static_cast<To>(value);
}

template <class To, class From>
To convert(From value) {
  auto v = static_cast<compute_type<From>>(value);
  if constexpr (std::is_same_v<To, bool>) {
    return v != 0;
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<decltype(v)>) {
    return truncate<To>(v);
  } else if constexpr (std::is_same_v<To, compute_type<To>>) {
    return static_cast<To>(v);
  } else {
    return To(static_cast<float>(v));
  }
}

}  // namespace

Array::Array(const TensorType& type) : type_(type), data_(allocate(type.bytes())) {}

Array::Array(const TensorType& type, void* data, std::shared_ptr<void> owner)
    : type_(type), data_(std::move(owner), data) {
  ensure(data != nullptr, "array: adopted memory is null");
}

Array Array::zeros(const Shape& shape, DType dtype) {
  Array out(shape, dtype);
  std::memset(out.raw(), 0, out.bytes());
  return out;
}

bool Array::exclusive() const {
  return defined() && sole_owner(data_) && std::get_deleter<Free>(data_) != nullptr;
}

double Array::item() const {
  require(defined() && elements() == 1, "array: item() needs exactly one element, the shape is ",
          shape());
  return at(0);
}

double Array::at(std::int64_t index) const {
  require(defined() && index >= 0 && index < elements(), "array: index ", index,
          " is outside the shape ", shape());
  return dispatch(dtype(),
                  [&](auto t) { return as_double(static_cast<const decltype(t)*>(raw())[index]); });
}

Array Array::clone() const {
  if (!defined()) return {};
  Array out(type_);
  std::memcpy(out.raw(), raw(), bytes());
  return out;
}

Array Array::reshape(const Shape& shape) const {
  require(defined(), "array: cannot reshape an undefined array");
  require(shape.elements() == elements(), "array: cannot reshape ", this->shape(), " to ", shape);
  Array out = *this;
  out.type_.shape = shape;
  return out;
}

Array Array::cast(DType dtype) const {
  require(defined(), "array: cannot cast an undefined array");
  if (dtype == this->dtype()) return clone();
  Array out(shape(), dtype);
  dispatch(this->dtype(), [&](auto from) {
    dispatch(dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      std::transform(span<From>().begin(), span<From>().end(), out.span<To>().begin(),
                     convert<To, From>);
    });
  });
  return out;
}

Array Array::row(std::int64_t index) const {
  require(shape().rank() >= 1 && index >= 0 && index < shape()[0], "array: row ", index,
          " is outside the shape ", shape());
  Array out = *this;
  out.type_.shape = Shape(shape().sizes().subspan(1));
  auto* base = static_cast<std::byte*>(data_.get()) + index * out.bytes();
  out.data_ = std::shared_ptr<void>(data_, base);
  return out;
}

Array Array::rows(std::int64_t first, std::int64_t count) const {
  require(shape().rank() >= 1 && first >= 0 && count >= 0 && count <= shape()[0] - first,
          "array: rows ", first, "..", first + count - 1, " are outside the shape ", shape());
  std::int64_t width = shape()[0] == 0 ? 0 : bytes() / shape()[0];
  Array out = *this;
  out.type_.shape = shape().with(0, count);
  out.data_ = std::shared_ptr<void>(data_, static_cast<std::byte*>(data_.get()) + first * width);
  return out;
}

void Array::check_type(DType wanted) const {
  require(defined(), "array: undefined, it has no elements");
  require(wanted == dtype(), "array: elements are ", dtype(), ", not ", wanted);
}

bool identical(const Array& a, const Array& b) {
  if (a.defined() != b.defined()) return false;
  return !a.defined() || (a.type() == b.type() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

std::string to_string(const Array& array) {
  if (!array.defined()) return "undefined";
  constexpr std::int64_t shown = 8;
  std::string out = to_string(array.type()) + " {";
  for (std::int64_t i = 0; i < std::min(shown, array.elements()); ++i)
    out += (i ? ", " : "") + text(array.at(i));
  return out + (array.elements() > shown ? ", ...}" : "}");
}

}  // namespace belfry
