#pragma once
// The CTC loss on the host: the check of a batch and the two recursions over the frames of a row
// (sections 4.1 and 4.2 of the paper named in sequences.h), in log space.

#include <array>
#include <span>
#include <string_view>

#include "belfry/framework/graph/graph.h"
#include "belfry/framework/ops/sequence/ctc_lattice.h"

namespace belfry {

/// Error naming `op` and the operand unless logits, labels, logit lengths and label lengths have
/// the types that ctc_loss() takes and `blank`, which may count from the end, is a class.
void check_ctc_types(std::string_view op, std::span<const TensorType> types, std::int64_t blank);
/// The same for tensors, which must be defined; Errors name the scope.
void check_ctc_operands(std::string_view op, const std::array<Tensor, 4>& operands,
                        std::int64_t blank);

/// Error naming `op` and the row unless lengths, labels and their fit are right.
void check_ctc_batch(std::string_view op, const CtcBatch& batch);

/// Fills log alpha [frames, stride], alpha(t, s) being the probability of all beginnings of paths
/// that are in state s in frame t; log_prob(t, k) is the log softmax. Returns the log of the
/// labels' probability.
template <class LogProb>
double ctc_forward(const CtcLattice& lattice, std::int64_t frames, std::int64_t stride,
                   double* alpha, const LogProb& log_prob) {
  std::int64_t states = lattice.states();
  for (std::int64_t t = 0; t < frames; ++t) {
    double* now = alpha + t * stride;
    for (std::int64_t s = 0; s < states; ++s)
      now[s] = (t == 0 ? lattice.begin(s) : lattice.arrive<double>(now - stride, s))
               + log_prob(t, lattice.symbol(s));
  }
  return lattice.log_probability<double>(alpha, frames, stride);
}

/// Calls visit(t, k, p) for every frame and state: the state has class k, and p is the probability,
/// given the labels, that the path is in it. `scratch` is 2 * lattice.states() long.
template <class LogProb, class Visit>
void ctc_backward(const CtcLattice& lattice, std::int64_t frames, std::int64_t stride,
                  const double* alpha, double* scratch, const LogProb& log_prob,
                  const Visit& visit) {
  double total = lattice.log_probability<double>(alpha, frames, stride);
  std::int64_t states = lattice.states();
  for (std::int64_t t = frames - 1; t >= 0; --t) {
    double *now = scratch + t % 2 * states, *after = scratch + (t + 1) % 2 * states;
    for (std::int64_t s = 0; s < states; ++s) {
      std::int64_t k = lattice.symbol(s);
      double rest = t == frames - 1 ? lattice.end(s) : lattice.leave<double>(after, s);
      visit(t, k, std::exp(alpha[t * stride + s] + rest - total));
      now[s] = rest + log_prob(t, k);
    }
  }
}

}  // namespace belfry
