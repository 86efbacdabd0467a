#pragma once
// Sources of random pipelines.

#include <cstdint>
#include <string>

#include "belfry/data/dataset.h"
#include "belfry/framework/tensor/philox.h"
#include "random_pipeline.h"

namespace belfry::data {

/// The kinds of elements that a pipeline has.
enum class ElementKind : std::uint8_t {
  rows,    ///< "x" f32 [3], "id" i64 []
  texts,   ///< "token" i32 [t], of any length
  images,  ///< "image" u8 [h, w, 3], "label" i64 []
};

struct RandomSource {
  Dataset dataset;
  std::string text;
  bool numbered = true;  ///< elements have the same numbers in the shares of several pipelines
};

/// A source that `random` draws, with `workers` in each of its parallel stages.
RandomSource random_source(const PipelineFiles& files, ElementKind kind, int workers,
                           PhiloxStream& random);

/// A number from `low` to `high`.
std::int64_t draw(PhiloxStream& random, std::int64_t low, std::int64_t high);

/// "token" as i32, and nothing else.
Features only_texts(Features in);

/// A checksum of all arrays.
std::int64_t digest(const Features& features);

}  // namespace belfry::data
