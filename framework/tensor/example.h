#pragma once
// tf.train.Example and tf.train.SequenceExample, the messages that TensorFlow keeps in TFRecord
// files: named lists of strings, floats or integers.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "belfry/framework/tensor/features.h"

namespace belfry::tf {

/// The kind of a feature that was never filled. It is no std::monostate, since it may not be copied
/// as bytes: without such a type among its own, std::variant of libstdc++ 12 destroys what is not
/// there when memory runs out in a copy.
struct NoKind {
  NoKind() = default;
  NoKind(const NoKind&) noexcept {}                            ///< copies nothing
  NoKind& operator=(const NoKind&) noexcept { return *this; }  ///< copies nothing
  bool operator==(const NoKind&) const = default;              ///< always true
};

/// A list of values of one kind, or of no kind.
using Feature =
    std::variant<NoKind, std::vector<std::string>, std::vector<float>, std::vector<std::int64_t>>;

using FeatureMap = std::map<std::string, Feature, std::less<>>;  ///< features by name

/// tf.train.Example.
struct Example {
  FeatureMap features;  ///< all of the message

  /// Reads the bytes of a message. Packed and unpacked lists, parts of a message that follow one
  /// another, and unknown fields are all read as protobuf asks; of a name that is there twice the
  /// last one counts. Error naming the offset: the bytes are no such message.
  static Example parse(std::span<const std::byte> bytes);

  /// The bytes of the message, equal ones for equal contents: names in their order, lists packed.
  std::vector<std::byte> serialize() const;

  bool operator==(const Example&) const = default;  ///< the same names, kinds and values
};

/// tf.train.SequenceExample: features of the whole, and for each step.
struct SequenceExample {
  FeatureMap context;                                                      ///< of the whole
  std::map<std::string, std::vector<Feature>, std::less<>> feature_lists;  ///< one Feature a step

  static SequenceExample parse(std::span<const std::byte> bytes);  ///< see Example::parse()
  std::vector<std::byte> serialize() const;                        ///< see Example::serialize()

  bool operator==(const SequenceExample&) const = default;  ///< the same names, kinds and values
};

/// The spec of a feature that parse_example() makes an array of this shape. Lists of floats become
/// f32, of integers i64, and one string becomes the u8 of its bytes: a raw image fills
/// {.shape = {28, 28}, .dtype = DType::u8}. An encoded one is VarLen, since its length is not
/// known.
struct FixedLen {
  Shape shape = {};          ///< by default that of a scalar
  DType dtype = DType::f32;  ///< f32, i64 or u8
  /// Taken when there is no such feature or it has no kind; of `dtype`, with as many values as
  /// `shape` or one for all. Undefined: the feature must be there.
  Array default_value = {};
};

/// As FixedLen, of any length n: [n]. A feature that is not there has length 0.
struct VarLen {
  DType dtype = DType::f32;  ///< f32, i64 or u8
};

/// Any number of strings, as two arrays: `name/values` u8 with the bytes of all, one string after
/// the other, and `name/lengths` i64 [n] in bytes. A feature that is not there has none.
struct StringList {};

/// The features to read, in the order that they shall have:
///
///   {{"image", tf::VarLen{DType::u8}}, {"label", tf::FixedLen{.dtype = DType::i64}}}
using ExampleSpec = std::vector<std::pair<std::string, std::variant<FixedLen, VarLen, StringList>>>;

/// Reads the bytes of a tf.train.Example into arrays. Features that the spec does not name are not
/// looked into. Error naming the feature: missing without default; another kind of values; another
/// count; more than one string, but in a StringList; a dtype other than f32, i64, u8; a default
/// that does not fit; bytes that are no Example.
Features parse_example(std::span<const std::byte> bytes, const ExampleSpec& spec);

/// The spec of a list of features that parse_sequence_example() makes [steps, shape...], each step
/// being read as FixedLen is.
struct FixedLenSequence {
  Shape shape = {};            ///< of a step; by default that of a scalar
  DType dtype = DType::f32;    ///< f32, i64 or u8
  bool allow_missing = false;  ///< a list that is not there has 0 steps; else it is an Error
};

/// The same for steps of any length, as two arrays: `name/values` [all values], one step after the
/// other, and `name/lengths` i64 [steps], the number of values of each. With u8 a step is one
/// string and its length in bytes. A step without values of any kind has length 0.
struct VarLenSequence {
  DType dtype = DType::f32;    ///< f32, i64 or u8
  bool allow_missing = false;  ///< as in FixedLenSequence
};

/// The features to read from a tf.train.SequenceExample, by name and in order.
struct SequenceExampleSpec {
  ExampleSpec context = {};  ///< features of the whole
  std::vector<std::pair<std::string, FixedLenSequence>> feature_lists = {};  ///< steps of one shape
  /// Steps of any length.
  std::vector<std::pair<std::string, VarLenSequence>> var_len_lists = {};
};

/// Reads the bytes of a tf.train.SequenceExample: the context's features, then the lists, those of
/// steps of any length last. Lists may differ in their steps. Errors as of parse_example(), naming
/// the step too, and a name that two parts of the spec use.
Features parse_sequence_example(std::span<const std::byte> bytes, const SequenceExampleSpec& spec);

}  // namespace belfry::tf
