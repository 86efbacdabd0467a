// The CTC loss and its gradient. The recursions take a block to each row and a barrier to each
// frame; what frames have by themselves, softmax and the sums over states of one class, takes a
// warp to each frame of each row, so that it fills the GPU.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/reduction/rows.h"
#include "belfry/framework/ops/sequence/ctc_lattice.h"

namespace belfry::cuda {
namespace {

constexpr int warp_threads = 32;

/// States of a row that are kept in shared memory; of longer rows they are in global memory.
constexpr std::int64_t near_states = 1024;

struct Sites {
  FaultSite length, label, fit;
};

/// A block to each row.
__global__ void check(CtcBatch batch, Sites sites) {
  std::int64_t row = blockIdx.x;
  CtcLattice lattice = batch.lattice(row);
  int needed = 0;
  for (std::int64_t i = threadIdx.x; i < lattice.label_count; i += block_threads) {
    std::int64_t label = lattice.labels[i];
    if (label < 0 || label >= batch.classes || label == batch.blank) report(sites.label, row);
    needed += i > 0 && label == lattice.labels[i - 1] ? 2 : 1;
  }
  needed = reduce_block<Sum>(needed);
  if (threadIdx.x != 0) return;
  std::int64_t frames = batch.frames_of(row);
  if (frames != batch.logit_lengths[row] || lattice.label_count != batch.label_lengths[row])
    report(sites.length, row);
  else if (needed > frames && !batch.zero_infinity)
    report(sites.fit, row);
}

/// The log of the sum of exponentials of each frame; a warp to each. Frames behind a row's length
/// are not read.
template <class T>
__global__ void sum_frames(CtcBatch batch, const T* logits, double* log_sums) {
  using C = compute_type<T>;
  std::int64_t frame = group_number<warp_threads>();
  if (frame >= batch.rows * batch.frames) return;
  std::int64_t row = frame / batch.frames, t = frame - row * batch.frames;
  std::int64_t classes = t < batch.frames_of(row) ? batch.classes : 0;
  const T* x = logits + frame * batch.classes;
  C highest = Highest::first<C>(), sum = 0;
  for_each_in_row<warp_threads>(
      x, classes, [&](std::int64_t, C value) { highest = Highest::add(highest, value); });
  highest = reduce_warp<Highest>(highest);
  for_each_in_row<warp_threads>(x, classes,
                                [&](std::int64_t, C value) { sum += std::exp(value - highest); });
  sum = reduce_warp<Sum>(sum);
  if (number_in_group<warp_threads>() == 0)
    log_sums[frame] = static_cast<double>(highest) + static_cast<double>(std::log(sum));
}

template <class T>
__device__ double log_prob(const T* logits, const double* log_sums, std::int64_t classes,
                           std::int64_t t, std::int64_t k) {
  return static_cast<double>(load(logits + t * classes + k)) - log_sums[t];
}

/// log alpha and the loss; a block to each row. The values of the frame before are kept at hand.
template <class T>
__global__ void forward(CtcBatch batch, const T* logits, const double* log_sums, double* alpha,
                        compute_type<T>* loss) {
  using C = compute_type<T>;
  __shared__ double near[2][near_states];
  std::int64_t row = blockIdx.x, frames = batch.frames_of(row), stride = batch.states();
  CtcLattice lattice = batch.lattice(row);
  std::int64_t states = lattice.states();
  logits += row * batch.frames * batch.classes;
  log_sums += row * batch.frames;
  alpha += row * batch.frames * stride;
  bool is_near = states <= near_states;
  for (std::int64_t t = 0; t < frames; ++t) {
    __syncthreads();  // the frame before is done
    const double* before = is_near ? near[(t + 1) % 2] : alpha + (t > 0 ? t - 1 : 0) * stride;
    for (std::int64_t s = threadIdx.x; s < states; s += block_threads) {
      double emitted = log_prob(logits, log_sums, batch.classes, t, lattice.symbol(s));
      double value = (t == 0 ? lattice.begin(s) : lattice.arrive<C>(before, s)) + emitted;
      alpha[t * stride + s] = value;
      if (is_near) near[t % 2][s] = value;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0)
    loss[row] = static_cast<C>(batch.loss(lattice.log_probability<C>(alpha, frames, stride)));
}

/// The probability of each state in each frame, given the labels; a block to each row. `far`, [n,
/// 2, states], serves rows that are too long for shared memory.
template <class T>
__global__ void backward(CtcBatch batch, const T* logits, const double* log_sums,
                         const double* alpha, double* far, compute_type<T>* posteriors) {
  using C = compute_type<T>;
  __shared__ double near[2][near_states];
  std::int64_t row = blockIdx.x, frames = batch.frames_of(row), stride = batch.states();
  CtcLattice lattice = batch.lattice(row);
  std::int64_t states = lattice.states();
  logits += row * batch.frames * batch.classes;
  log_sums += row * batch.frames;
  alpha += row * batch.frames * stride;
  posteriors += row * batch.frames * stride;
  bool is_near = states <= near_states;
  if (!is_near) far += row * 2 * stride;
  __shared__ double total;
  if (threadIdx.x == 0) total = lattice.log_probability<C>(alpha, frames, stride);
  __syncthreads();
  for (std::int64_t t = frames - 1; t >= 0; --t) {
    double* now = is_near ? near[t % 2] : far + t % 2 * stride;
    const double* after = is_near ? near[(t + 1) % 2] : far + (t + 1) % 2 * stride;
    for (std::int64_t s = threadIdx.x; s < states; s += block_threads) {
      double emitted = log_prob(logits, log_sums, batch.classes, t, lattice.symbol(s));
      double rest = t == frames - 1 ? lattice.end(s) : lattice.leave<C>(after, s);
      std::int64_t i = t * stride + s;
      posteriors[i] = std::exp(static_cast<C>(alpha[i] + rest - total));
      now[s] = rest + emitted;
    }
    __syncthreads();
  }
}

/// order[j] is the place of the label that comes j-th when those of a row are sorted, equal ones by
/// place: then one thread can add up what one class has, always in the same order. A block to each
/// row.
__global__ void sort_labels(CtcBatch batch, std::int32_t* order) {
  std::int64_t row = blockIdx.x;
  CtcLattice lattice = batch.lattice(row);
  const std::int64_t* labels = lattice.labels;
  for (std::int64_t i = threadIdx.x; i < lattice.label_count; i += block_threads) {
    std::int64_t lower = 0;
    for (std::int64_t j = 0; j < lattice.label_count; ++j)
      lower += labels[j] < labels[i] || (labels[j] == labels[i] && j < i);
    order[row * batch.max_length + lower] = static_cast<std::int32_t>(i);
  }
}

/// (softmax - posterior) * dy; a warp to each frame. First as if no class were the blank or a
/// label, then those again.
template <class T>
__global__ void combine(CtcBatch batch, const compute_type<T>* dy, const T* logits,
                        const double* log_sums, const double* alpha,
                        const compute_type<T>* posteriors, const std::int32_t* order, T* dlogits) {
  using C = compute_type<T>;
  std::int64_t frame = group_number<warp_threads>();
  if (frame >= batch.rows * batch.frames) return;
  std::int64_t row = frame / batch.frames, t = frame - row * batch.frames;
  std::int64_t frames = batch.frames_of(row), stride = batch.states();
  CtcLattice lattice = batch.lattice(row);
  double total = lattice.log_probability<C>(alpha + row * batch.frames * stride, frames, stride);
  const T* x = logits + frame * batch.classes;
  T* dx = dlogits + frame * batch.classes;
  bool counts = t < frames && !batch.is_zero(total);  // else all is 0
  double log_sum = log_sums[frame];
  C factor = dy[row];
  auto probability = [=](C value) { return std::exp(static_cast<C>(value - log_sum)); };
  map_row<warp_threads>(x, dx, batch.classes, [=](std::int64_t, C value) {
    return counts ? probability(value) * factor : C(0);
  });
  const C* p = posteriors + frame * stride;
  int lane = number_in_group<warp_threads>();
  C of_blank = 0;
  for (std::int64_t i = lane; counts && i <= lattice.label_count; i += warp_threads)
    of_blank += p[2 * i];
  of_blank = reduce_warp<Sum>(of_blank);
  __syncwarp();  // what other threads wrote is there, and is overwritten
  if (!counts) return;
  if (lane == 0) store(dx + batch.blank, (probability(load(x + batch.blank)) - of_blank) * factor);
  order += row * batch.max_length;
  for (std::int64_t j = lane; j < lattice.label_count; j += warp_threads) {
    std::int64_t label = lattice.labels[order[j]];
    if (j > 0 && lattice.labels[order[j - 1]] == label) continue;  // another thread's
    C sum = 0;
    for (std::int64_t i = j; i < lattice.label_count && lattice.labels[order[i]] == label; ++i)
      sum += p[2 * order[i] + 1];
    std::int64_t k = lattice.symbol(2 * order[j] + 1);
    store(dx + k, (probability(load(x + k)) - sum) * factor);
  }
}

LaunchShape block_a_row(const CtcBatch& batch) { return {batch.rows, block_threads}; }

template <class T>
std::unique_ptr<Kernel> make_loss(const Node& node, const Gpu& gpu) {
  using C = compute_type<T>;
  CtcBatch operands =
      CtcBatch::of(node.input(0).shape(), node.input(1).shape(), node.as<CtcOptions>());
  auto length = gpu.faults.add("ctc_loss: a length at row ",
                               concat(" is outside: logit lengths are 0..", operands.frames,
                                      ", label lengths 0..", operands.max_length));
  auto label = gpu.faults.add("ctc_loss: a label at row ",
                              concat(" is outside 0..", operands.classes - 1, " or the blank, ",
                                     operands.blank, ", without which labels go"));
  auto fit = gpu.faults.add("ctc_loss: the labels at row ",
                            concat(" need more frames than its logit length", ctc_unfitting));
  return make_kernel([=](const KernelArguments& a, Stream& stream) {
    CtcBatch batch = operands.with(a.inputs[1], a.inputs[2], a.inputs[3]);
    const auto* logits = a.input<T>(0);
    auto *log_sums = a.output<double>(1), *alpha = a.output<double>(2);
    launch(stream, block_a_row(batch), check, batch,
           Sites{length->site(a), label->site(a), fit->site(a)});
    launch(stream, groups<warp_threads>(batch.rows * batch.frames), sum_frames<T>, batch, logits,
           log_sums);
    launch(stream, block_a_row(batch), forward<T>, batch, logits, log_sums, alpha, a.output<C>(0));
  });
}

template <class T>
std::unique_ptr<Kernel> make_grad(const Node& node, const Gpu&) {
  using C = compute_type<T>;
  CtcBatch operands =
      CtcBatch::of(node.input(1).shape(), node.input(2).shape(), node.as<CtcOptions>());
  if (operands.max_length > INT32_MAX) return nullptr;
  std::int64_t frames = operands.rows * operands.frames, states = operands.states();
  std::int64_t far_count = states > near_states ? operands.rows * 2 * states : 0;
  Bytes size(far_count * static_cast<std::int64_t>(sizeof(double))
             + frames * states * static_cast<std::int64_t>(sizeof(C))
             + operands.rows * operands.max_length
                   * static_cast<std::int64_t>(sizeof(std::int32_t)));
  auto run = [=](const KernelArguments& a, Stream& stream) {
    CtcBatch batch = operands.with(a.inputs[2], a.inputs[3], a.inputs[4]);
    const auto* dy = a.input<C>(0);
    const auto* logits = a.input<T>(1);
    const auto *log_sums = a.input<double>(5), *alpha = a.input<double>(6);
    auto* far = a.scratch<double>();
    auto* posteriors = reinterpret_cast<C*>(far + far_count);
    auto* order = reinterpret_cast<std::int32_t*>(posteriors + frames * states);
    launch(stream, block_a_row(batch), sort_labels, batch, order);
    launch(stream, block_a_row(batch), backward<T>, batch, logits, log_sums, alpha, far,
           posteriors);
    launch(stream, groups<warp_threads>(frames), combine<T>, batch, dy, logits, log_sums, alpha,
           posteriors, order, a.output<T>(0));
  };
  return make_kernel(run, size);
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu& gpu, const KernelOptions&) {
  bool grad = node.is(ctc_loss_grad_op);
  return dispatch_floating(node.input(grad ? 1 : 0).dtype(), node.op().name, [&](auto t) {
    using T = decltype(t);
    return grad ? make_grad<T>(node, gpu) : make_loss<T>(node, gpu);
  });
}

const KernelRegistration registrations[] = {{ctc_loss_op, make}, {ctc_loss_grad_op, make}};

}  // namespace
}  // namespace belfry::cuda
