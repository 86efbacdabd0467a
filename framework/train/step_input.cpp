#include "belfry/framework/train/step_input.h"

namespace belfry {

StepInput::StepInput(InputFn input_fn, InputContext context, int batches_a_step)
    : input_fn_(std::move(input_fn)),
      context_(std::move(context)),
      stream_(open(context_)),
      batches_(static_cast<std::size_t>(batches_a_step)) {}

InputStreamPtr StepInput::open(const InputContext& context) const {
  InputStreamPtr fresh = input_fn_(context);
  require(fresh, "train: input_fn returned no stream");
  return fresh;
}

void StepInput::restore(const std::string& position) {
  restored_ = true;
  with_context(
      "while restoring the input position of the checkpoint; train with .resume_input = false to "
      "begin the data anew",
      [&] { stream_->restore(position); });
}

bool StepInput::take() {
  std::size_t read = 0;
  // A stream may clear what it was handed at its end; the last batch is still wanted then.
  while (read < batches_.size() && stream_->next(spare_)) std::swap(batches_[read++], spare_);
  if (read > 0) count_ = read;
  return read > 0;
}

bool StepInput::read_first() {
  position_before_ = stream_->save();
  was_read_ = true;
  return held_ = take();
}

bool StepInput::begin_anew() {
  stream_ = open(context_);
  return read_first();
}

bool StepInput::read() {
  if (held_) {
    held_ = false;
    return true;
  }
  return take();
}

const Features* StepInput::any() {
  if (count_ == 0 && open({.towers = context_.towers})->next(batches_[0])) count_ = 1;
  return count_ > 0 ? &batches_[0] : nullptr;
}

std::string StepInput::position() const { return held_ ? position_before_ : stream_->save(); }

}  // namespace belfry
