#include "belfry/framework/ops/sequence/sequence_rows.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  check_sequences(c.op, "truth", c.inputs[0], c.inputs[1]);
  check_sequences(c.op, "hypothesis", c.inputs[2], c.inputs[3]);
  const Shape &truth = c.inputs[0].shape, &hypothesis = c.inputs[2].shape;
  require(truth[0] == hypothesis[0], c.op, ": truth ", c.inputs[0], " and hypothesis ", c.inputs[2],
          " have ", truth[0], " and ", hypothesis[0], " rows");
  return {c.inputs[1], c.inputs[1]};
}

void reference(const KernelContext& c) {
  const auto& o = c.as<EditDistanceOptions>();
  auto truth = SequenceRows::of(c.input(0).shape(), c.input(0).data, c.input(1).data);
  auto hypothesis = SequenceRows::of(c.input(2).shape(), c.input(2).data, c.input(3).data);
  std::int64_t rows = c.input(0).shape()[0];
  check_lengths(c.op, "truth", truth, rows);
  check_lengths(c.op, "hypothesis", hypothesis, rows);
  std::vector<std::int64_t> costs(truth.max_length + 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    RowDistance result =
        row_distance({truth.row(row), truth.length(row), o},
                     {hypothesis.row(row), hypothesis.length(row), o}, costs.data());
    c.output(0).as<std::int64_t>()[row] = result.distance;
    c.output(1).as<std::int64_t>()[row] = result.length;
  }
}

}  // namespace

const OpDef edit_distance_op{
    .name = "edit_distance", .shape = shape, .gradient = no_gradient, .reference = reference};

EditDistance edit_distance(Sequences truth, Sequences hypothesis, EditDistanceOptions options) {
  truth = whole_sequences("edit_distance", "truth", truth);
  hypothesis = whole_sequences("edit_distance", "hypothesis", hypothesis);
  Node& node = apply(edit_distance_op,
                     {truth.labels, truth.lengths, hypothesis.labels, hypothesis.lengths}, options);
  return {Tensor(node, 0), Tensor(node, 1)};
}

}  // namespace belfry
