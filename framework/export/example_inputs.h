#pragma once
// Inputs of exports that come as serialized tf.train.Examples.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "belfry/framework/base/enum_names.h"
#include "belfry/framework/tensor/array.h"

namespace belfry {

/// How a tf.train.Example holds a feature: as a list of floats or integers, as one string with a
/// byte for each element, or as one string that is an image file (PNG, JPEG, ...).
enum class StoredAs : std::uint8_t { floats, integers, bytes, image };

constexpr auto names_of(StoredAs) { return name_list("floats", "integers", "bytes", "image"); }

/// How an input of a signature is read from a tf.train.Example. The feature must have as many
/// values as one example of the input, like a FixedLenFeature of TensorFlow's; an image must have
/// the input's height, width and channels.
struct ExampleInput {
  std::string feature = {};  ///< its name there; empty: the input's
  /// None: as floats for a floating input, as bytes for u8, as integers for all others.
  std::optional<StoredAs> stored = {};
  /// The value of bytes and images that becomes 1 in a floating input, which is x / unit, as by
  /// data::to_float(). Numbers that an input of integers cannot hold are an Error.
  double unit = 255;
  /// Each value, as it is stored, where an Example lacks the feature; none: that is an Error.
  std::optional<double> default_value = {};
};

/// By input; one that is not there is read as ExampleInput{} says.
using ExampleInputs = std::map<std::string, ExampleInput, std::less<>>;

/// Gives u8 [h, w, channels] for the bytes of an image file. data::decode_image() is one:
///
///   [](auto bytes, int channels) { return data::decode_image(bytes, {.channels = channels}); }
using DecodeImage = std::function<Array(std::span<const std::byte> bytes, int channels)>;

}  // namespace belfry
