// Sequences of labels: a thread to each row. Rows are short and few, beside the network that made
// them.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/ops/sequence/sequence_rows.h"

namespace belfry::cuda {
namespace {

__global__ void collapse(SequenceRows path, std::int64_t rows, std::int64_t blank,
                         std::int64_t* labels, std::int64_t* lengths, FaultSite site) {
  std::int64_t row = thread_number();
  if (row >= rows) return;
  if (path.is_bad(row)) report(site, row);
  lengths[row] = collapse_row(path, row, blank, labels + row * path.max_length);
}

struct Distances {
  std::int64_t *distance, *length;
  std::int64_t* costs;  ///< [rows, truth.places + 1]
};

__global__ void distances(SequenceRows truth, SequenceRows hypothesis, std::int64_t rows,
                          EditDistanceOptions options, Distances out, FaultSite site) {
  std::int64_t row = thread_number();
  if (row >= rows) return;
  if (truth.is_bad(row) || hypothesis.is_bad(row)) report(site, row);
  RowDistance result = row_distance({truth.row(row), truth.length(row), options},
                                    {hypothesis.row(row), hypothesis.length(row), options},
                                    out.costs + row * (truth.max_length + 1));
  out.distance[row] = result.distance;
  out.length[row] = result.length;
}

std::unique_ptr<Kernel> make_collapse(const Node& node, const Gpu& gpu, const KernelOptions&) {
  Shape path = node.input(0).shape();
  std::int64_t blank = node.as<CtcCollapseOptions>().blank;
  auto fault =
      gpu.faults.add("ctc_collapse: the length at row ", concat(" is outside 0..", path[1]));
  return make_kernel([=](const KernelArguments& a, Stream& stream) {
    launch(stream, threads_for(path[0]), collapse, SequenceRows::of(path, a.inputs[0], a.inputs[1]),
           path[0], blank, a.output<std::int64_t>(0), a.output<std::int64_t>(1), fault->site(a));
  });
}

std::unique_ptr<Kernel> make_distance(const Node& node, const Gpu& gpu, const KernelOptions&) {
  Shape truth = node.input(0).shape(), hypothesis = node.input(2).shape();
  auto options = node.as<EditDistanceOptions>();
  auto fault = gpu.faults.add("edit_distance: a length at row ",
                              concat(" is outside: those of truth are 0..", truth[1],
                                     ", those of hypothesis 0..", hypothesis[1]));
  auto run = [=](const KernelArguments& a, Stream& stream) {
    Distances out{.distance = a.output<std::int64_t>(0),
                  .length = a.output<std::int64_t>(1),
                  .costs = a.scratch<std::int64_t>()};
    launch(stream, threads_for(truth[0]), distances,
           SequenceRows::of(truth, a.inputs[0], a.inputs[1]),
           SequenceRows::of(hypothesis, a.inputs[2], a.inputs[3]), truth[0], options, out,
           fault->site(a));
  };
  return make_kernel(
      run, Bytes(truth[0] * (truth[1] + 1) * static_cast<std::int64_t>(sizeof(std::int64_t))));
}

const KernelRegistration registrations[] = {{ctc_collapse_op, make_collapse},
                                            {edit_distance_op, make_distance}};

}  // namespace
}  // namespace belfry::cuda
