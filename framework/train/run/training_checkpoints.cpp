// How a training writes checkpoints.

#include "belfry/framework/base/file.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/what_of.h"
#include "belfry/framework/train/run/training_impl.h"

namespace belfry {

Checkpoint Training::Impl::take_snapshot() {
  require(steps_under_way <= 1,
          "save_checkpoint: the next step is under way; a hook that saves in after_step says so "
          "in needs_result_now()");
  if (is_chief())
    for (const auto& l : options.listeners) l->before_save(*this);
  if (!hooks.saver() && is_chief()) probe_writable(dir_);  // nobody has looked at the folder yet
  session.leave_off(input_position(), hooks.states(session.hook_states()));
  Checkpoint checkpoint = session.snapshot_of_all();
  if (!reads_alone()) sync.gather_positions(checkpoint.input);
  return checkpoint;
}

void Training::Impl::checkpoint_written(const std::string& path) {
  log_info("saved ", path);
  for (const auto& l : options.listeners) l->after_save(*this, path);
}

void Training::Impl::begin_listeners() {
  if (!is_chief()) return;
  for (const auto& l : options.listeners) {
    ++listening;
    l->training_begins(*this);
  }
}

void Training::Impl::end_listeners(Outcome outcome) {
  for (; listening > 0; --listening) {
    try {
      options.listeners[listening - 1]->training_ends(*this, outcome);
    } catch (...) {
      log_line(LogLevel::error, concat("a checkpoint listener failed at its end: ",
                                       what_of(std::current_exception())));
    }
  }
}

std::string Training::Impl::save_checkpoint() {
  settle();
  std::string before;
  try {
    if (writing.valid()) before = writing.get();
  } catch (const Error& error) {
    log_warning(error.what(), "; the present one takes its place");
  }
  if (!before.empty()) checkpoint_written(before);
  Checkpoint checkpoint = take_snapshot();
  if (!is_chief()) return checkpoint_path(dir_, session.step());
  std::string path = belfry::save_checkpoint(dir_, checkpoint, config_.keep_checkpoints);
  checkpoint_written(path);
  return path;
}

void Training::Impl::begin_checkpoint() {
  if (!config_.save_in_background || ended) {
    save_checkpoint();
    return;
  }
  settle();
  finish_writing(true);
  Checkpoint snapshot = take_snapshot();
  if (!is_chief()) return;
  auto write = [dir = dir_, checkpoint = std::move(snapshot), keep = config_.keep_checkpoints] {
    return with_context(
        concat("while checkpoint ", checkpoint.step, " was written in the background"),
        [&] { return belfry::save_checkpoint(dir, checkpoint, keep); });
  };
  writing = std::async(std::launch::async, std::move(write));
}

void Training::Impl::finish_writing(bool wait) {
  auto done = [&] {
    return writing.valid()
           && (wait || writing.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  };
  if (!wait && done() && !options.listeners.empty()) settle();  // they may read variables
  if (done()) checkpoint_written(writing.get());
}

std::exception_ptr Training::Impl::end_writing(Outcome outcome) {
  try {
    finish_writing(true);
  } catch (...) {
    std::exception_ptr error = std::current_exception();
    if (outcome == Outcome::failed) log_line(LogLevel::error, concat("train: ", what_of(error)));
    return error;
  }
  return {};
}

}  // namespace belfry
