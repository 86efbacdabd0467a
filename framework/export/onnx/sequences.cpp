// Sequences of labels.

#include "belfry/framework/export/onnx/converter.h"

namespace belfry::onnx {
namespace {

// (path [n, t], lengths [n]): labels are scattered to the number of labels before them, and what is
// no label to a column more, which is then cut off.
void ctc_collapse(Converter& c) {
  const Extent rows = c.type(0).sizes[0], frames = c.type(0).sizes[1];
  std::string path = c.input(0), columns = c.list({1}), t = c.sizes({frames});
  std::string counted =
      c.add("Less", {c.numbers(frames), c.add("Unsqueeze", {c.input(1), columns})});
  std::string shifted = c.add("Pad", {path, c.list({0, 1, 0, -1}), c.scalar(-1, DType::i64)});
  std::string repeated = c.add("Equal", {path, shifted});
  // No class is -1, so the first frame repeats nothing.
  std::string blank = c.add("Equal", {path, c.scalar(c.whole("blank"), DType::i64)});
  std::string label = c.add("And", {counted, c.add("Not", {c.add("Or", {repeated, blank})})});
  std::string ones = c.add("Cast", {label}, {{"to", data_type(DType::i64)}});
  std::string before =
      c.add("CumSum", {ones, c.scalar(1, DType::i64)}, {{"exclusive", std::int64_t{1}}});
  std::string entry = c.add("Where", {label, before, t});
  Extent one_more = frames;
  ++one_more.fixed;
  std::string empty = c.add("Expand", {c.scalar(-1, DType::i64), c.sizes({rows, one_more})});
  std::string all = c.add("ScatterElements", {empty, entry, path}, {{"axis", std::int64_t{1}}});
  c.give(c.add("Slice", {all, c.list({0}), t, columns}), 0);
  c.give(c.add("ReduceSum", {ones, columns}, {{"keepdims", std::int64_t{0}}}), 1);
}

}  // namespace

Conversions sequence_conversions() { return {{"ctc_collapse", ctc_collapse}}; }

}  // namespace belfry::onnx
