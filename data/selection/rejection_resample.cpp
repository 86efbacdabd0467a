#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "belfry/data/selection/selection.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class RejectionResample final : public Iterator {
 public:
  RejectionResample(IteratorPtr source, ClassOf class_of, std::vector<double> target,
                    std::vector<double> initial, PhiloxKey key, StageName stage)
      : source_(std::move(source)),
        class_of_(std::move(class_of)),
        target_(std::move(target)),
        initial_(std::move(initial)),
        key_(key),
        stage_(std::move(stage)) {
    if (initial_.empty()) seen_.resize(target_.size());
  }

  bool next(Element& out) override {
    while (source_->next(out))
      if (is_kept(for_element(stage_, out, [&] { return class_in(out.features); }), out))
        return true;
    return false;
  }

  void position(Position& at) override {
    if (initial_.empty()) {
      at.list("rejection_resample.seen", seen_);
      require(seen_.size() == target_.size(), "input: the saved position has ", seen_.size(),
              " classes, this pipeline has ", target_.size());
    }
    source_->position(at);
  }

 private:
  std::size_t class_in(const Features& element) const {
    std::int64_t number = class_of_(element);
    require(number >= 0 && number < std::ssize(target_), "rejection_resample: class ", number,
            " is none of the ", target_.size(), " for which there are targets");
    return number;
  }

  // With the probability (target / initial) / (the largest of those).
  bool is_kept(std::size_t number, const Element& element) {
    if (initial_.empty()) ++seen_[number];
    double largest = 0;
    for (std::size_t i = 0; i < target_.size(); ++i) largest = std::max(largest, ratio(i));
    PhiloxStream random(philox_key(key_.value, element.epoch), element.index);
    return random.uniform_double() * largest < ratio(number);
  }

  // 0 for a class that has not occurred.
  double ratio(std::size_t number) const {
    double there = initial_.empty() ? static_cast<double>(seen_[number]) : initial_[number];
    return there > 0 ? target_[number] / there : 0;
  }

  IteratorPtr source_;
  ClassOf class_of_;
  std::vector<double> target_, initial_;
  PhiloxKey key_;
  StageName stage_;
  std::vector<std::int64_t> seen_;  // elements of each class so far, if that is to be found out
};

void check_weights(const char* what, const std::vector<double>& weights) {
  for (double w : weights)
    require(std::isfinite(w) && w >= 0, "rejection_resample: ", what,
            " weights must be at least 0 and finite, got ", w);
  require(std::accumulate(weights.begin(), weights.end(), 0.0) > 0, "rejection_resample: all ",
          what, " weights are 0");
}

}  // namespace

Transform rejection_resample(ClassOf class_of, std::vector<double> target,
                             ResampleOptions options) {
  require(class_of != nullptr, "rejection_resample: the function is empty");
  const std::vector<double>& initial = options.initial;
  check_weights("target", target);
  if (!initial.empty()) check_weights("initial", initial);
  require(initial.empty() || initial.size() == target.size(), "rejection_resample: there are ",
          target.size(), " target weights and ", initial.size(), " initial ones");
  for (std::size_t i = 0; i < initial.size(); ++i)
    require(initial[i] > 0 || target[i] == 0, "rejection_resample: class ", i,
            " is to occur, but .initial says that there is none of it");
  return wrap(
      "rejection_resample",
      [=](IteratorPtr source, const Pass& pass) {
        return std::make_unique<RejectionResample>(
            std::move(source), class_of, target, options.initial,
            pass.key(options.seed, "rejection_resample"), pass.name);
      },
      [=](const DatasetInfo& source) {
        return DatasetInfo{.cardinality = source.cardinality == 0 ? 0 : unknown,
                           .whole = options.initial.empty()};
      });
}

}  // namespace belfry::data
