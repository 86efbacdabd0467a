#pragma once
// The check that every op passes: shape, reference, gradient, determinism, each backend present.

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "belfry/framework/graph/scope.h"

namespace belfry {

struct OpCheck {
  /// Builds the op. Called with f32 inputs and again with f64 ones: floating inputs change type,
  /// others stay. Returns the outputs to be checked.
  std::function<std::vector<Tensor>(const Scope&, std::span<const Tensor>)> build;
  std::vector<Array> inputs;       ///< floating ones as f32
  std::vector<int> constant = {};  ///< floating inputs that no gradient is asked for
  bool gradient = true;            ///< false: the op has none
  /// Rounding allowed in f32, in units of 2^-23 times the largest magnitude in the output: for sums
  /// of many terms about sqrt(terms).
  double rounding = 32;
  double step = 1e-5;          ///< of the central differences, in f64
  std::vector<int> wide = {};  ///< floating inputs that are f32 where the others are bf16 or f16
};

/// Runs the op with fast kernels in f32 and with the reference in f64 and compares:
///  (1) output shapes are those that were inferred;
///  (2) fast f32 against reference f64 on a device of each kind that is there, and reference f32
///      against reference f64;
///  (3) analytic gradients in f64 (of a weighted sum of the floating outputs) against central
///      differences; fast f32 gradients on each device against those in f64;
///  (4) two runs on a device give the same bits;
///  (5) fast bf16 and f16 against the reference in the same type, on each device, and f32 with
///      products in TF32 against the reference in f64.
/// Returns what differs, one finding a line; empty when everything agrees.
std::string check_op(const OpCheck& check);

/// Names of all ops in what check_op() has checked in this process, gradients included. With
/// check_op(), for one thread.
const std::set<std::string, std::less<>>& checked_ops();

}  // namespace belfry
