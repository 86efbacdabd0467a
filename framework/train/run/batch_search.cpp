#include "belfry/framework/train/run/batch_search.h"

#include <algorithm>
#include <map>
#include <optional>

#include "belfry/framework/train/model/model.h"
#include "belfry/framework/train/run/hook_list.h"
#include "belfry/framework/train/run/training_plan.h"

namespace belfry {
namespace {

// A tower's rows are searched for: all have as many when a batch is as large as can be.
class BatchSearch {
 public:
  BatchSearch(Session& session, const RunConfig& config, const Features& batch,
              const TrainOptions& options)
      : session_(session),
        hooks_(config, options, std::nullopt),
        options_(hooks_.model_options(config)),
        signature_(signature_of(batch)) {
    batch_rows_ = row_count(batch);
    require(batch_rows_ > 0, "batch_that_fits: the first batch has no rows");
  }

  std::int64_t batch_rows() const { return batch_rows_; }

  // The largest number of a tower's rows up to `most` that fits, or 0. `first` is tried first, and
  // what a model throws there is thrown; later it means that the model does not take so many.
  std::int64_t largest(std::int64_t first, std::int64_t most) {
    std::int64_t fits = 0, too_many = most + 1;
    std::int64_t rows = std::min(first, most);
    known_[rows] = bytes_over(rows);
    for (int tries = 0;; ++tries) {
      (known_[rows] <= 0 ? fits : too_many) = rows;
      if (too_many - fits <= 1) return fits;
      std::int64_t middle = fits + (too_many - fits) / 2;
      std::int64_t guess = tries % 3 == 2 && too_many <= most ? middle : guess_from(rows);
      rows = std::clamp(guess, fits + 1, too_many - 1);
      try {
        known_[rows] = bytes_over(rows);
      } catch (const Error&) {
        known_[rows] = unknown;
      }
    }
  }

 private:
  static constexpr std::int64_t unknown = std::int64_t{1} << 60;

  // Bytes grow evenly with the rows, or nearly so.
  std::int64_t guess_from(std::int64_t rows) const {
    auto here = known_.find(rows), other = std::next(here);
    if (other == known_.end() && here != known_.begin()) other = std::prev(here);
    std::int64_t doubled = here->second <= 0 ? 2 * rows : rows / 2;
    if (other == known_.end() || here->second == unknown || other->second == unknown)
      return doubled;
    double slope = static_cast<double>(other->second - here->second) / (other->first - here->first);
    if (slope <= 0) return doubled;
    double guess = rows - here->second / slope;
    return static_cast<std::int64_t>(std::clamp(guess, 0.0, 0x1p41));
  }

  std::int64_t bytes_over(std::int64_t rows) {
    Signature own = signature_;
    for (auto& [name, type] : own)
      if (type.shape.rank() > 0 && type.shape[0] == batch_rows_)
        type.shape = type.shape.with(0, rows);
    ModelOptions options = session_.planner().complete(options_);
    options.most_rows = rows;
    options.least_rows = std::min<std::int64_t>(rows, options.micro_batches);
    Model model = session_.planner().build(Mode::train, own, hooks_.all(), options);
    std::int64_t most = -unknown;
    for (int tower = 0; tower < session_.towers().count(); ++tower)
      most = std::max(most, session_.planner().bytes_over(model, tower));
    return most;
  }

  Session& session_;
  HookList hooks_;
  ModelOptions options_;
  Signature signature_;
  std::int64_t batch_rows_ = 0;
  std::map<std::int64_t, std::int64_t> known_;  // bytes over the limit, by rows
};

// The number of towers that share a batch of the input_fn; a tower's rows are so many times fewer.
std::int64_t towers_of_a_batch(const Towers& towers) {
  switch (towers.strategy().batch) {
    case BatchPolicy::per_tower:
      return 1;
    case BatchPolicy::per_worker:
      return towers.count();
    case BatchPolicy::global:
      break;
  }
  return towers.range().all;
}

}  // namespace

FittingBatch find_batch_that_fits(Session& session, const RunConfig& config, const Features& batch,
                                  const TrainOptions& options, std::int64_t most) {
  BatchSearch search(session, config, batch, options);
  constexpr std::int64_t most_rows = std::int64_t{1} << 40;
  std::int64_t towers = towers_of_a_batch(session.towers());
  std::int64_t most_of_a_tower = std::min(most, most_rows) / towers;
  FittingBatch found{.precision = config.precision, .recompute = config.recompute.automatic};
  if (most_of_a_tower == 0) return found;
  std::int64_t first = (search.batch_rows() + towers - 1) / towers;
  std::int64_t rows = search.largest(first, most_of_a_tower);
  found.batch = rows * towers;
  found.at_least = rows == most_of_a_tower;
  return found;
}

std::string to_string(const BatchThatFits& fits) {
  std::string out = "precision   computed again   largest batch\n";
  for (const FittingBatch& way : fits.ways) {
    std::string line = to_string(way.precision);
    line.resize(12, ' ');
    line += way.recompute ? "as it takes" : "no";
    line.resize(29, ' ');
    out += concat(line, way.at_least ? "at least " : "", way.batch, "\n");
  }
  return out;
}

}  // namespace belfry
