#pragma once
// Host arrays.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "belfry/framework/tensor/dtype.h"
#include "belfry/framework/tensor/shape.h"

namespace belfry {

/// A dense row-major array in host memory, 64-byte aligned. A handle: copies share the elements,
/// clone() makes new ones. Thread rules: any number of threads may read; writers need exclusion.
class Array {
 public:
  Array() = default;                       ///< undefined: no elements, defined() is false
  explicit Array(const TensorType& type);  ///< elements are uninitialised
  Array(const Shape& shape, DType dtype) : Array(TensorType{shape, dtype}) {}  ///< likewise
  /// Adopts memory owned by `owner`; `data` must hold type.bytes() and stay valid while owner
  /// lives.
  Array(const TensorType& type, void* data, std::shared_ptr<void> owner);

  static Array zeros(const Shape& shape, DType dtype = DType::f32);  ///< all 0 or false

  /// A rank-1 array from values, or any shape whose element count matches (Error otherwise).
  ///@{
  template <class T>
  static Array of(std::span<const T> values, const Shape& shape);
  template <class T>
  static Array of(std::initializer_list<T> values, const Shape& shape) {
    return of(std::span<const T>(values.begin(), values.size()), shape);
  }
  template <class T>
  static Array of(std::initializer_list<T> values) {
    return of(values, Shape{std::ssize(values)});
  }
  ///@}
  /// An array of rank 0.
  template <class T>
  static Array scalar(T value) {
    return of({value}, Shape{});
  }

  bool defined() const { return data_ != nullptr; }  ///< also of an array with 0 elements
  /// The form, and the size in bytes; of an undefined array they say nothing.
  ///@{
  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  std::int64_t elements() const { return type_.shape.elements(); }
  std::int64_t bytes() const { return type_.bytes(); }
  ///@}

  /// No other handle shares the elements and they are not adopted memory: nobody else would notice
  /// if they were overwritten.
  bool exclusive() const;

  /// The memory of the elements, bytes() bytes; raw() is null while the array is undefined.
  ///@{
  void* raw() { return data_.get(); }
  const void* raw() const { return data_.get(); }
  std::span<std::byte> raw_bytes() {
    return {static_cast<std::byte*>(raw()), static_cast<std::size_t>(bytes())};
  }
  std::span<const std::byte> raw_bytes() const {
    return {static_cast<const std::byte*>(raw()), static_cast<std::size_t>(bytes())};
  }
  ///@}

  /// The elements; Error when T is not the array's type. They last as long as a handle does, so an
  /// array that nobody keeps has none to give: Array w = f(); for (float x : w.span<float>()) ...
  ///@{
  template <class T>
  std::span<T> span() & {
    check_type(dtype_of<T>);
    return {static_cast<T*>(raw()), static_cast<std::size_t>(elements())};
  }
  template <class T>
  std::span<const T> span() const& {
    check_type(dtype_of<T>);
    return {static_cast<const T*>(raw()), static_cast<std::size_t>(elements())};
  }
  ///@}
  template <class T>
  std::span<const T> span() const&& = delete;

  /// The only element of a one-element array, converted; Error when there are more or none.
  double item() const;
  /// Element `index` in row-major order, converted to double.
  double at(std::int64_t index) const;

  Array clone() const;                      ///< new elements with the same values
  Array reshape(const Shape& shape) const;  ///< shares the elements; Error unless counts match
  /// A converted copy. Floats to integers truncate toward zero; beyond the integer's range they
  /// give its lowest or highest value, and NaN gives 0.
  Array cast(DType dtype) const;
  /// Row `index` of axis 0, sharing the elements: shape [n, ...] gives [...].
  Array row(std::int64_t index) const;
  /// `count` rows of axis 0 from `first` on, sharing the elements.
  Array rows(std::int64_t first, std::int64_t count) const;

 private:
  void check_type(DType wanted) const;

  TensorType type_;
  std::shared_ptr<void> data_;
};

/// Same type and the same bytes.
bool identical(const Array& a, const Array& b);

std::string to_string(const Array& array);  ///< type and the first few values

template <class T>
Array Array::of(std::span<const T> values, const Shape& shape) {
  require(std::ssize(values) == shape.elements(), "array: ", values.size(),
          " values do not fill the shape ", shape);
  Array out(shape, dtype_of<T>);
  auto target = out.span<T>();
  for (std::size_t i = 0; i < values.size(); ++i) target[i] = values[i];
  return out;
}

/// Axis i of the result is axis order[i] of the array; the elements are copied. Error: `order` is
/// no permutation of the axes.
Array permute(const Array& array, std::span<const std::int64_t> order);

/// [n, ...] from n rows of the type `row`, copied. Error: one is of another type.
Array stack_rows(std::span<const Array> rows, const TensorType& row);

/// [a + b + ..., ...] from parts [a, ...], [b, ...], ... of one type but for their rows, copied.
/// Error: there is no part, or they do not fit together.
Array concat_rows(std::span<const Array> parts);

/// `shape` behind an axis of `rows`.
Shape with_rows(const Shape& shape, std::int64_t rows);

}  // namespace belfry
