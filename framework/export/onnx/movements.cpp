// Ops that move elements.

#include <algorithm>
#include <numeric>

#include "belfry/framework/export/onnx/converter.h"

namespace belfry::onnx {
namespace {

// With -1 where that says it all, as other programs then know the other sizes.
void reshape(Converter& c) {
  std::vector<Extent> shape = c.extents("shape");
  auto follows = [](const Extent& e) { return e.follows_batch(); };
  bool plain = std::count_if(shape.begin(), shape.end(), follows) == 1
               && std::find(shape.begin(), shape.end(), Extent{}) == shape.end();
  if (plain) *std::find_if(shape.begin(), shape.end(), follows) = {-1};
  c.give(c.add("Reshape", {c.input(0), c.sizes(shape)}, {{"allowzero", std::int64_t{!plain}}}));
}

void broadcast_to(Converter& c) {
  c.give(c.add("Expand", {c.input(0), c.sizes(c.extents("shape"))}));
}

void transpose(Converter& c) { c.give(c.transposed(c.input(0), c.wholes("permutation"))); }

void concat(Converter& c) {
  std::vector<std::string> parts;
  std::int64_t axis = c.whole("axis");
  if (c.elementwise_channels_first(parts)) {
    auto first = to_channels_first(c.rank(0));
    std::int64_t position = std::find(first.begin(), first.end(), axis) - first.begin();
    return c.give_channels_first(c.add("Concat", parts, {{"axis", position}}));
  }
  for (int i = 0; i < std::ssize(c.node().inputs); ++i) parts.push_back(c.input(i));
  c.give(c.add("Concat", parts, {{"axis", axis}}));
}

void slice(Converter& c) {
  const std::vector<Extent>& begin = c.extents("begin");
  std::vector<std::int64_t> strides = c.wholes("strides"), axes(strides.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::vector<Extent> end = c.extents("size");
  for (std::size_t i = 0; i < end.size(); ++i) {
    // begin + (size - 1) * stride + 1, and begin where the size is 0.
    if (end[i] == Extent{}) {
      end[i] = begin[i];
      continue;
    }
    for (std::int64_t Extent::*part :
         {&Extent::fixed, &Extent::per_row, &Extent::per_step, &Extent::per_row_and_step})
      end[i].*part = begin[i].*part + end[i].*part * strides[i];
    end[i].fixed += 1 - strides[i];
  }
  if (axes.empty()) return c.give(c.input(0));
  c.give(c.add("Slice", {c.input(0), c.sizes(begin), c.sizes(end), c.list(axes), c.list(strides)}));
}

void pad(Converter& c) {
  std::vector<Extent> amounts = c.extents("before");
  const std::vector<Extent>& after = c.extents("after");
  amounts.insert(amounts.end(), after.begin(), after.end());
  std::string value = c.scalar(c.number("value"), c.type(0).dtype);
  c.give(c.add("Pad", {c.input(0), c.sizes(amounts), value}));
}

void gather(Converter& c) {
  c.give(c.add("Gather", {c.input(0), c.input(1)}, {{"axis", c.whole("axis")}}));
}

// ONNX' OneHot counts negative indices from the end; here they have no place.
void one_hot(Converter& c) {
  std::int64_t depth = c.whole("depth");
  DType dtype = dtype_from_string(c.words("dtype"));
  std::string indices = c.add("Cast", {c.input(0)}, {{"to", data_type(DType::i64)}});
  std::string column = c.add("Unsqueeze", {indices, c.list({-1})});
  std::string chosen = c.add("Equal", {column, c.numbers({depth})});
  c.give(
      c.add("Where", {chosen, c.scalar(c.number("on"), dtype), c.scalar(c.number("off"), dtype)}));
}

// A constant that follows the batch; the others are known already.
void constant(Converter& c) {
  const saved::Node& node = c.node();
  const saved::Type& type = node.outputs[0];
  if (!node.elements.empty()) {
    std::string all = c.add("Cast", {c.sizes(node.elements)}, {{"to", data_type(type.dtype)}});
    return c.give(c.add("Reshape", {all, c.sizes(type.sizes)}));
  }
  std::string value = c.constant(node.value);
  if (!node.is_longest()) return c.give(c.add("Expand", {value, c.sizes(type.sizes)}));
  std::vector<std::int64_t> begin(type.sizes.size()), axes(type.sizes.size());
  std::iota(axes.begin(), axes.end(), 0);
  c.give(c.add("Slice", {value, c.list(begin), c.sizes(type.sizes), c.list(axes)}));
}

}  // namespace

Conversions movement_conversions() {
  return {{"constant", constant},   {"one_hot", one_hot},
          {"reshape", reshape},     {"broadcast_to", broadcast_to},
          {"transpose", transpose}, {"concat", concat},
          {"slice", slice},         {"pad", pad},
          {"gather", gather},       {"embedding_lookup", gather}};
}

}  // namespace belfry::onnx
