#pragma once
// A cell of one's own, step by step.

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "belfry/framework/graph/scope.h"

namespace belfry {

/// One step: x [n, ...] and the states before it, [n, ...] of any types, integers too -> what the
/// step gives [n, ...], and the states behind it, of the same shapes and types. Variables are made
/// under the scope, by the first step; under a Scope::shared() they may be there.
using ScanCell = std::function<std::pair<Tensor, std::vector<Tensor>>(
    const Scope& s, const Tensor& x, std::span<const Tensor> states)>;

/// Options of scan().
struct ScanOptions {
  bool reverse = false;  ///< from the last step to the first
  /// i32 or i64 [n]: steps of each row that count. Behind them states stay and results are 0. None:
  /// all. Reversed, a row begins with its last step that counts.
  Tensor lengths = {};
};

/// Results of scan().
struct ScanResult {
  Tensor y;                    ///< [n, t, ...]: what the steps gave
  std::vector<Tensor> states;  ///< behind the last step
};

/// Runs a cell over the steps of x [n, t, ...], from the states `initial`, which may be none:
///
///   ScanResult out = scan(s / "cell", [](const Scope& s, const Tensor& x, auto states) {
///     Tensor h = tanh(dense(s, concat({x, states[0]}, -1), {.units = 32}));
///     return std::pair(h, std::vector{h});
///   }, x, {zeros});
///
/// For cells that lstm(), gru() and simple_rnn() are not. All steps share the variables, and each
/// has its own copy of the cell in the graph: for tens of steps, not for thousands. A cell without
/// an input is given zeros [n, t]. Error: x without steps, a state or result that is not [n, ...],
/// lengths that are not as above, no cell; a cell that gives another number of states, or one of
/// another type; when the step runs, a length outside 0..t.
ScanResult scan(const Scope& s, const ScanCell& cell, Tensor x, std::vector<Tensor> initial,
                const ScanOptions& options = {});

}  // namespace belfry
