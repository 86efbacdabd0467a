#pragma once
// The results of predict(), computed as they are asked for, and a predictor with the variables of
// an Estimator that may be training.

#include <cstddef>
#include <iterator>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "belfry/framework/tensor/features.h"

namespace belfry {

class LinkedStop;
class Session;

/// Options of Estimator::predict() and Estimator::predictor().
struct PredictOptions {
  std::vector<std::string> keys = {};  ///< which predictions; empty: all
  bool single_examples = true;         ///< one Features an example; false: one a batch
  /// Path, or a model_dir, which stands for its newest checkpoint; empty: the live or newest state.
  std::string checkpoint = {};
  bool averaged = false;  ///< with the moving averages of the variables that have one
  /// Once requested, also while the input makes it wait, the predictions end with the running
  /// batch. So they do when a training of this estimator that was under way when they began is
  /// asked to stop from outside.
  std::stop_token stop = {};
};

/// A lazy sequence of predictions, read once from front to back; several may be read in turn:
///
///   for (const Features& p : estimator.predict(input_fn)) use(p.at("digit").item());
///
/// Used by one thread at a time; its Estimator must outlive it.
class Predictions {
 public:
  /// Estimator::predict() calls it. `stop` makes the token in `options`, and is kept with it.
  Predictions(std::shared_ptr<Session> session, InputStreamPtr input, PredictOptions options,
              std::unique_ptr<LinkedStop> stop = {});
  Predictions(Predictions&&) noexcept;  ///< the other may then only be destroyed
  ~Predictions();

  /// The next prediction; false at the end. Arrays are its own, the caller may keep them. Error:
  /// single_examples is set and an output's axis 0 is not the batch's rows.
  bool next(Features& prediction);

  /// A stop has ended them before the data did.
  bool stopped() const;

  /// An input iterator, for a range-based for: ++ computes, * reads.
  class Iterator {
   public:
    /// As std::iterator_traits asks.
    ///@{
    using value_type = Features;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    ///@}
    Iterator() = default;  ///< the end
    /// Calls source->next() once.
    explicit Iterator(Predictions* source) : source_(source) { ++*this; }
    /// The prediction; it changes with the next ++.
    ///@{
    const Features& operator*() const { return current_; }
    const Features* operator->() const { return &current_; }
    ///@}
    /// Calls next(). Errors as there.
    ///@{
    Iterator& operator++() {
      if (!source_->next(current_)) source_ = nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    ///@}
    /// For iterators of one sequence: whether both are at the end, or neither is.
    bool operator==(const Iterator& other) const { return source_ == other.source_; }

   private:
    Predictions* source_ = nullptr;
    Features current_;
  };
  Iterator begin() { return Iterator(this); }  ///< computes the next prediction
  Iterator end() { return {}; }                ///< behind the last prediction

 private:
  bool next_batch();

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The result of Estimator::predictor(): a function of a batch, with the variables as they are now.
///
///   LivePredictor predict = estimator.predictor({.keys = {"digit"}});
///   std::jthread trainer([&] { estimator.train(input_fn, {.max_steps = 1000}); });
///   show(predict({{"image", image}}).at("digit"));  // [n]
///
/// A copy predicts with the same variables. They are those of a whole step: the last one or, on a
/// GPU, that which is under way, which nobody has looked at for NaN yet. Random numbers are step
/// 0's, as for Estimator::predict(). Training ends with the same bits with and without predictions.
///
/// Thread rules: from any thread at any time while its Estimator lives. A prediction beside a
/// training waits until the running step and its hooks are done, and for the predictions that were
/// asked for before it; then the training waits for one prediction of each thread that asked. While
/// it is paused, waits for data or is between two calls of Training::step(), nobody waits for it. A
/// hook may predict on the training thread, with the variables of its own step where it says
/// needs_result_now(), but must not wait for another thread that does.
class LivePredictor {
 public:
  /// Estimator::predictor() calls it. Error: PredictOptions::checkpoint is not empty.
  LivePredictor(std::shared_ptr<Session> session, PredictOptions options);

  /// The predictions for a batch, as Estimator::predict() gives them with
  /// `.single_examples = false`. Arrays are the caller's. The first batch of a signature calls
  /// model_fn and compiles. Error: what model_fn throws, the batch does not fit the model, there is
  /// no such prediction, or there are no moving averages yet; a training has failed within a step,
  /// after which another predictor() goes on from the newest checkpoint.
  Features operator()(const Features& batch) const;

 private:
  std::shared_ptr<Session> session_;
  PredictOptions options_;
};

}  // namespace belfry
