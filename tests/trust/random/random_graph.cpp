#include "random_graph.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "random_builder.h"

namespace belfry::random_models {
namespace {

PhiloxStream stream_of(std::uint64_t seed, const std::string& name) {
  return PhiloxStream(philox_key(seed, name));
}

Shape input_shape(PhiloxStream& random, std::int64_t rows, bool rows_apart) {
  static constexpr std::array<std::int64_t, 11> choices = {1, 1, 2, 3, 4, 5, 6, 7, 8, 11, 16};
  std::vector<std::int64_t> sizes;
  if (rows_apart) sizes.push_back(rows);
  std::uint64_t rank = random.below(rows_apart ? 4 : 6);
  std::int64_t elements = 1, most = rows_apart ? 200 : 1500;
  for (std::uint64_t i = 0; i < rank; ++i) {
    std::int64_t size = random.below(12) == 0 ? 32 + 31 * static_cast<std::int64_t>(random.below(2))
                                              : choices[random.below(choices.size())];
    if (elements * size > most) size = 1;
    elements *= size;
    sizes.push_back(size);
  }
  return Shape(std::span<const std::int64_t>(sizes));
}

const std::vector<Draw>& all_draws() {
  static const std::vector<Draw> all = [] {
    std::vector<Draw> list;
    for (auto draws : {elementwise_draws(), movement_draws(), whole_draws(), image_draws(),
                       layer_draws(), sequence_draws()})
      list.insert(list.end(), draws.begin(), draws.end());
    return list;
  }();
  return all;
}

std::span<const Draw> family(std::int64_t which) {
  switch (which) {
    case 0:
    case 1:
    case 2:
      return elementwise_draws();
    case 3:
      return movement_draws();
    case 4:
      return image_draws();
    case 5:
      return sequence_draws();
    case 6:
      return layer_draws();
    default:
      return all_draws();
  }
}

void grow(Builder& model) {
  // Each model has its own taste, so that chains of one kind come about, too.
  std::int64_t taste = model.below(12), ops = model.between(2, model.chance(0.2f) ? 30 : 12);
  for (std::int64_t i = 0, tries = 0; i < ops && tries < 40 * ops; ++tries) {
    std::span<const Draw> from = family(model.chance(0.5f) ? taste : 11);
    ++model.count;
    i += from[static_cast<std::size_t>(model.below(std::ssize(from)))](model);
  }
}

}  // namespace

InputTypes input_types(const GraphOptions& options, std::int64_t rows) {
  PhiloxStream random = stream_of(options.seed, "inputs");
  InputTypes out;
  auto type = [&](DType dtype) {
    return TensorType{input_shape(random, rows, options.rows_apart), dtype};
  };
  for (std::uint64_t i = 0, n = 1 + random.below(3); i < n; ++i)
    out.emplace_back(concat("x", i), type(options.floating));
  out.emplace_back("exact", type(options.floating));
  for (DType dtype : {DType::i64, DType::i32, DType::u8})
    if (dtype == DType::i64 || random.below(2))
      out.emplace_back(concat("whole", dtype), type(dtype));
  return out;
}

Array elements_of(std::uint64_t seed, const std::string& name, const TensorType& type) {
  PhiloxStream random = stream_of(seed, name);
  bool floating = is_floating(type.dtype);
  Array out(type.shape, floating ? DType::f64 : DType::i64);
  if (!floating) {
    for (std::int64_t& x : out.span<std::int64_t>()) x = static_cast<std::int64_t>(random.below(7));
    return out.cast(type.dtype);
  }
  bool positive = name.ends_with("scale") || name.ends_with("moving_variance");
  bool weights = name.find('/') != std::string::npos;
  std::int64_t last =
      type.shape.rank() > 1 ? type.shape[type.shape.rank() - 1] : type.shape.elements();
  double size = weights
                    ? std::sqrt(2.0
                                / static_cast<double>(std::max<std::int64_t>(
                                    1, type.shape.elements() / std::max<std::int64_t>(1, last))))
                    : 1.5;
  // Numbers that bf16 has: whatever the type of the model, its inputs are the same.
  for (double& x : out.span<double>()) {
    double u = random.uniform_double();
    double drawn = positive ? 0.5 + u : std::min(size, 1.5) * (2 * u - 1);
    x = static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(drawn))));
  }
  return out;
}

Model build(const Scope& scope, const GraphOptions& options,
            const std::function<Tensor(const std::string& name)>& input) {
  Builder model{.scope = scope,
                .random = stream_of(options.seed, "model"),
                .floating = options.floating,
                .rows_apart = options.rows_apart,
                .batch_statistics = options.batch_statistics};
  Model out;
  for (const auto& [name, type] : input_types(options, 1)) {
    Tensor t = input(name);
    if (!is_floating(type.dtype)) {
      model.whole.push_back(t);
    } else if (name == "exact") {
      model.exact.push_back({t, 1.5});
    } else {
      model.values.push_back({t, 1.5});
      out.differentiable.push_back(t);
    }
  }
  std::size_t leaves = model.values.size();
  grow(model);
  // The last value, and about a third of the others: what is an output is in no fusion.
  for (std::size_t i = leaves; i < model.values.size(); ++i)
    if (i + 1 == model.values.size() || model.chance(0.3f))
      out.outputs.push_back(model.values[i].tensor);
  if (out.outputs.empty()) out.outputs.push_back(tanh(model.values[0].tensor));
  out.whole = model.whole;
  return out;
}

}  // namespace belfry::random_models
