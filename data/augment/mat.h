#pragma once
// Arrays as OpenCV matrices and back; belfry/data/opencv.h is the header for users.

#include "belfry/framework/tensor/array.h"

namespace cv {
class Mat;
}

namespace belfry::data {

/// `array` as a matrix that shares its elements: [h, w] and [h, w, 1] as one channel, [h, w, c] as
/// c channels; u8, i32, f32 or f64. The array's memory must outlive the matrix. Thread rules: as
/// the array's. Error: another rank or type, no elements, above 2^31 - 1 in size or 512 channels.
cv::Mat view(Array& array);
/// The same for reading: what is written through a copy of the matrix is the writer's fault.
const cv::Mat view(const Array& array);
void view(Array&&) = delete;  ///< the memory would be gone with the array
void view(const Array&&) = delete;

/// An array that shares the elements of `mat`: [h, w, c], u8, i32, f32 or f64. It keeps the
/// matrix's memory alive; if the matrix itself was made over memory of yours, that must outlive
/// the array. exclusive() is false for it. Error: a matrix that is empty, of another type, of more
/// than two dimensions, or whose rows are not contiguous (part of another: clone() it first).
Array to_array(const cv::Mat& mat);

}  // namespace belfry::data
