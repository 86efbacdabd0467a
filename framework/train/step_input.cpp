#include "belfry/framework/train/step_input.h"

namespace belfry {

StepInput::StepInput(InputFn input_fn, InputContext context, int batches_a_step)
    : input_fn_(std::move(input_fn)),
      context_(std::move(context)),
      stream_(open()),
      batches_(static_cast<std::size_t>(batches_a_step)) {}

InputStreamPtr StepInput::open() const {
  InputStreamPtr fresh = input_fn_(context_);
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
  while (read < batches_.size() && stream_->next(batches_[read])) ++read;
  if (read > 0) count_ = read;
  return read > 0;
}

bool StepInput::read_first(bool again) {
  position_before_ = stream_->save();
  was_read_ = true;
  held_ = take();
  if (held_ || !restored_ || !again) return held_;
  stream_ = open();
  position_before_ = stream_->save();
  return held_ = take();
}

bool StepInput::read() {
  if (held_) {
    held_ = false;
    return true;
  }
  return take();
}

std::string StepInput::position() const { return held_ ? position_before_ : stream_->save(); }

}  // namespace belfry
