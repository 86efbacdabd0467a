#include "belfry/framework/train/step/step_input.h"

#include <utility>

#include "belfry/framework/base/log.h"
#include "belfry/framework/train/model/model.h"
#include "belfry/framework/train/step/worker_sync.h"

namespace belfry {

StepInput::StepInput(InputFn input_fn, InputContext context, int batches_a_set)
    : input_fn_(std::move(input_fn)),
      context_(std::move(context)),
      stream_(open_input(input_fn_, "train", context_)),
      batches_a_set_(batches_a_set),
      sets_(1) {}

void StepInput::restore(const std::string& position) {
  restored_ = true;
  with_context(
      "while restoring the input position of the checkpoint; train with .resume_input = false to "
      "begin the data anew",
      [&] { stream_->restore(position); });
}

bool StepInput::fetch(int set) {
  std::size_t index = set;
  if (sets_.size() <= index) sets_.resize(index + 1);
  Set& to = sets_[index];
  to.batches.resize(batches_a_set_);
  std::size_t read = 0;
  // A stream may clear what it was handed at its end; the last batch is still wanted then.
  auto more = [&] { return !context_.stop.stop_requested() && stream_->next(spare_); };
  while (read < batches_a_set_ && more()) std::swap(to.batches[read++], spare_);
  if (read < batches_a_set_ && context_.stop.stop_requested()) read = 0;
  if (read > 0) to.count = read;
  return read > 0;
}

// A stream that was stopped has nothing left, and that is not the end of the data.
bool StepInput::settle(std::size_t sets, bool all_read, bool may_put_back) {
  sets_read_ = all_read ? sets : 0;
  stopped_ = !all_read && context_.stop.stop_requested();
  if (stopped_ && may_put_back) put_back();
  return all_read;
}

bool StepInput::read_first(bool need_any) {
  position_before_ = stream_->save();
  was_read_ = true;
  held_ = fetch(0);
  if (!held_ && need_any) any();
  return settle(1, held_, true);
}

bool StepInput::begin_anew(bool need_any) {
  stream_ = open_input(input_fn_, "train", context_);
  return read_first(need_any);
}

bool StepInput::read(int sets, bool may_put_back) {
  may_put_back = may_put_back || sets > 1 || batches_a_set_ > 1;
  if (may_put_back && !held_) position_before_ = stream_->save();
  may_put_back = may_put_back || held_;
  return settle(sets, fetch_all(sets), may_put_back);
}

bool StepInput::fetch_all(int sets) {
  bool first = std::exchange(held_, false) || fetch(0);
  for (int set = 1; set < sets && first; ++set) {
    if (fetch(set)) continue;
    if (context_.stop.stop_requested()) return false;
    log_warning("train: the data end with ", set, " of the ", sets,
                " batches that a round takes, so it is not begun; repeat() makes them last");
    return false;
  }
  return first;
}

const Features* StepInput::any() {
  Set& first = sets_[0];
  first.batches.resize(batches_a_set_);
  InputContext all{.towers = context_.towers, .stop = context_.stop};
  if (first.count == 0 && open_input(input_fn_, "train", all)->next(first.batches[0]))
    first.count = 1;
  return first.count > 0 ? &first.batches[0] : nullptr;
}

std::int64_t StepInput::batch_rows() const {
  return batches().empty() ? 0 : row_count(batches()[0]);
}

std::uint64_t StepInput::digest() const {
  std::uint64_t all = 0;
  for (std::size_t set = 0; set < sets_read_; ++set)
    for (const Features& batch : batches(set)) all = all * 31 + belfry::digest(batch);
  return all;
}

std::string StepInput::position() const {
  return held_ || put_back_ ? position_before_ : stream_->save();
}

}  // namespace belfry
