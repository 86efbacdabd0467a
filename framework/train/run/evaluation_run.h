#pragma once
// The work of Estimator::evaluate(). Internal to train/.

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "belfry/framework/base/linked_stop.h"
#include "belfry/framework/train/estimator.h"
#include "belfry/framework/train/step/session.h"

namespace belfry {

/// Sums over batches: the states of metrics, and the loss weighted by rows.
class EvaluationSums {
 public:
  explicit EvaluationSums(const NamedMetrics& metrics);
  /// Adds what the towers have found of a batch.
  void add(const Replicas& replicas);
  /// Adds what the other workers have.
  void merge(Workers& workers);
  std::int64_t rows() const { return rows_; }
  EvalResult result(const NamedMetrics& metrics, std::int64_t step) const;

 private:
  double loss_ = 0;
  std::int64_t rows_ = 0;
  std::vector<std::vector<double>> states_;
};

/// One evaluation by this worker. Used by one thread.
class EvaluationRun {
 public:
  /// Opens the input. Stops when `options.stop` or `training_stop` is requested.
  EvaluationRun(std::shared_ptr<Session> session, const InputFn& input_fn,
                const EvalOptions& options, const std::stop_token& training_stop);
  /// All batches of this worker; waits for no other one.
  void run();
  bool stopped() const { return stop_.stop_requested(); }
  /// The result of all workers, which call it when none has failed; `stopped`: one was.
  EvalResult result(bool stopped);
  /// Does what comes before the second batch, but runs nothing. Returns the results that are
  /// numbers.
  std::vector<std::string> try_out();

 private:
  /// For a worker without data. False: a stop came first.
  bool prepare_without_rows();

  std::shared_ptr<Session> session_;
  InputFn input_fn_;
  EvalOptions options_;
  LinkedStop both_;
  std::stop_token stop_;
  InputStreamPtr input_;
  StepDriver& driver_;
  std::optional<EvaluationSums> sums_;
};

/// Whether a worker was stopped. Error: one has failed, `own` if that is this one.
bool agree_on_evaluation(Workers& workers, const std::exception_ptr& own, bool stopped);

}  // namespace belfry
