#include "belfry/models/sequences/ctc_decode.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace belfry::models {
namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == impossible ? a : a + std::log1p(std::exp(b - a));
}

/// The log softmax of frames, in double, and which class is the blank.
class Frames {
 public:
  Frames(std::string_view what, const Array& logits, std::int64_t blank) {
    require(is_floating(logits.dtype()) && logits.shape().rank() == 2 && logits.shape()[1] >= 1,
            what, ": logits must be floating [t, classes], got ", logits.type());
    count_ = logits.shape()[0];
    classes_ = logits.shape()[1];
    require(blank >= -classes_ && blank < classes_, what, ": blank ", blank,
            " is not a class of logits ", logits.type());
    blank_ = blank < 0 ? blank + classes_ : blank;
    for (std::int64_t i = 0; i < logits.elements(); ++i) log_probs_.push_back(logits.at(i));
    for (std::int64_t t = 0; t < count_; ++t) normalize(what, t);
  }

  std::int64_t count() const { return count_; }
  std::int64_t classes() const { return classes_; }
  std::int64_t blank() const { return blank_; }
  double operator()(std::int64_t t, std::int64_t k) const { return log_probs_[t * classes_ + k]; }

 private:
  void normalize(std::string_view what, std::int64_t t) {
    auto begin = log_probs_.begin() + t * classes_, end = begin + classes_;
    double highest = *std::max_element(begin, end), sum = 0;
    for (auto x = begin; x != end; ++x) sum += std::exp(*x - highest);
    require(std::isfinite(highest) && !std::isnan(sum), what, ": the logits of frame ", t,
            " are NaN or infinite");
    for (auto x = begin; x != end; ++x) *x -= highest + std::log(sum);
  }

  std::int64_t count_ = 0, classes_ = 0, blank_ = 0;
  std::vector<double> log_probs_;
};

/// Log probabilities of a prefix: of its alignments that end in a blank, and of the others.
struct Prefix {
  double in_blank = impossible, in_label = impossible;
  double total() const { return log_add(in_blank, in_label); }
};
// Ordered by labels: results do not depend on addresses or hashes.
using Beam = std::map<std::vector<std::int64_t>, Prefix>;

/// All prefixes that those of the beam may be after one more frame.
Beam extend(const Beam& beam, const Frames& frames, std::int64_t t) {
  Beam next;
  for (const auto& [labels, prefix] : beam) {
    double total = prefix.total();
    Prefix& same = next[labels];
    same.in_blank = log_add(same.in_blank, total + frames(t, frames.blank()));
    std::vector<std::int64_t> longer = labels;
    longer.push_back(0);
    for (std::int64_t k = 0; k < frames.classes(); ++k) {
      if (k == frames.blank() || frames(t, k) == impossible) continue;
      bool repeats = !labels.empty() && labels.back() == k;
      // Without a blank between them, two equal labels are one.
      if (repeats) same.in_label = log_add(same.in_label, prefix.in_label + frames(t, k));
      longer.back() = k;
      double before = repeats ? prefix.in_blank : total;
      if (before == impossible) continue;
      double& grown = next[longer].in_label;
      grown = log_add(grown, before + frames(t, k));
    }
  }
  return next;
}

std::vector<Beam::const_iterator> best(const Beam& beam, int count) {
  std::vector<Beam::const_iterator> order;
  for (auto i = beam.begin(); i != beam.end(); ++i)
    if (i->second.total() != impossible) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [](auto a, auto b) { return a->second.total() > b->second.total(); });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  return order;
}

}  // namespace

CtcPath ctc_best_path(const Array& logits, CtcDecodeOptions o) {
  Frames frames("ctc_best_path", logits, o.blank);
  CtcPath path;
  std::int64_t previous = frames.blank();
  for (std::int64_t t = 0; t < frames.count(); ++t) {
    std::int64_t k = 0;
    for (std::int64_t i = 1; i < frames.classes(); ++i)
      if (frames(t, i) > frames(t, k)) k = i;
    if (k != frames.blank() && k != previous) path.labels.push_back(k);
    path.log_probability += frames(t, k);
    previous = k;
  }
  return path;
}

std::vector<CtcPath> ctc_beam_search(const Array& logits, CtcBeamOptions o) {
  require(o.width >= 1 && o.paths >= 1, "ctc_beam_search: width and paths must be at least 1, got ",
          o.width, " and ", o.paths);
  Frames frames("ctc_beam_search", logits, o.blank);
  Beam beam{{{}, {.in_blank = 0}}};
  for (std::int64_t t = 0; t < frames.count(); ++t) {
    Beam next = extend(beam, frames, t);
    beam.clear();
    for (auto kept : best(next, o.width)) beam.insert(*kept);
  }
  std::vector<CtcPath> paths;
  for (auto found : best(beam, o.paths))
    paths.push_back({.labels = found->first, .log_probability = found->second.total()});
  return paths;
}

}  // namespace belfry::models
