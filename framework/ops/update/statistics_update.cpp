#include "belfry/framework/ops/update/updates.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const auto& o = c.as<StatisticsUpdateOptions>();
  std::size_t pairs = c.inputs.size() / 2;
  ensure(c.inputs.size() % 2 == 0 && o.scales.size() == pairs && o.rates.size() == pairs, c.op,
         ": ", c.inputs.size(), " inputs, ", o.scales.size(), " scales, ", o.rates.size(),
         " rates");
  for (std::size_t i = 0; i < c.inputs.size(); i += 2)
    ensure(c.inputs[i].dtype == DType::f32 && c.inputs[i] == c.inputs[i + 1], c.op, ": ",
           c.inputs[i], " and ", c.inputs[i + 1]);
  return {};
}

void reference(const KernelContext& c) {
  const auto& o = c.as<StatisticsUpdateOptions>();
  for (std::size_t pair = 0; pair < o.rates.size(); ++pair) {
    const ArrayView& view = c.inputs[2 * pair];
    float* moving = view.as<float>();
    const float* batch = c.inputs[2 * pair + 1].as<float>();
    auto scale = static_cast<float>(o.scales[pair]), rate = static_cast<float>(o.rates[pair]);
    for (std::int64_t i = 0; i < view.elements(); ++i) {
      float scaled = batch[i] * scale, way = (scaled - moving[i]) * rate;
      moving[i] += way;
    }
  }
}

std::vector<int> mutates(const Node& node) {
  std::vector<int> out;
  for (int i = 0; i < std::ssize(node.inputs()); i += 2) out.push_back(i);
  return out;
}

}  // namespace

const OpDef statistics_update_op{
    .name = "statistics_update", .shape = shape, .reference = reference, .mutates = mutates};

}  // namespace belfry
