#pragma once
// NPY, NumPy's file format of one array:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// Reads an array that NumPy saved, versions 1.0 to 3.0 of the format. f8, f4, f2, i8, i4, u1 and
/// b1 become the types of the same size, i1, i2 and u2 become i32, and u4 becomes i64. Either byte
/// order; arrays in Fortran order are put into row-major order. Sizes are checked against the file
/// before memory is taken.
///
/// Error naming the file and the offset: no such file, a damaged header, too few or too many bytes,
/// a boolean other than 0 and 1, more than 8 axes; u8, complex numbers, strings, dates, records and
/// Python objects, which have no type here.
Array read_npy(const std::string& path);

/// As read_npy(), from the bytes of such a file; `name` stands for the path in messages.
Array parse_npy(std::span<const std::byte> bytes, const std::string& name = "NPY bytes");

/// Writes `array` for NumPy, version 1.0, whole or not at all and durably, as
/// write_file_atomically() does. Error: undefined; bf16, of which NumPy knows nothing: cast to f32;
/// the file cannot be written.
void write_npy(const std::string& path, const Array& array);

/// The bytes of such a file.
std::vector<std::byte> to_npy(const Array& array);

/// The bytes that stand before the elements in such a file.
std::string npy_header(const TensorType& type);

}  // namespace belfry::data
