#include "belfry/framework/train/run/checkpoint_writer.h"

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/train/run_config.h"

namespace belfry {

void CheckpointWriter::begin_listeners() {
  if (!training_.is_chief()) return;
  for (const auto& l : listeners_) {
    ++listening_;
    l->training_begins(training_);
  }
}

void CheckpointWriter::before_save() {
  if (!training_.is_chief()) return;
  for (const auto& l : listeners_) l->before_save(training_);
}

void CheckpointWriter::end_listeners(Outcome outcome) {
  for (; listening_ > 0; --listening_) {
    try {
      listeners_[listening_ - 1]->training_ends(training_, outcome);
    } catch (...) {
      log_failure("a checkpoint listener failed at its end", std::current_exception());
    }
  }
}

void CheckpointWriter::written(const std::string& path) {
  log_info("saved ", path);
  for (const auto& l : listeners_) l->after_save(training_, path);
}

std::string CheckpointWriter::write(const Checkpoint& checkpoint) {
  if (!training_.is_chief()) return checkpoint_path(dir_, checkpoint.step);
  std::string path = save_checkpoint(dir_, checkpoint, training_.config().keep_checkpoints);
  written(path);
  return path;
}

void CheckpointWriter::begin(Checkpoint snapshot) {
  if (!training_.is_chief()) return;
  auto write = [dir = dir_, checkpoint = std::move(snapshot),
                keep = training_.config().keep_checkpoints] {
    return with_context(
        concat("while checkpoint ", checkpoint.step, " was written in the background"),
        [&] { return save_checkpoint(dir, checkpoint, keep); });
  };
  writing_ = std::async(std::launch::async, std::move(write));
}

bool CheckpointWriter::is_done() const {
  return writing_.valid()
         && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void CheckpointWriter::finish() {
  if (writing_.valid()) written(writing_.get());
}

void CheckpointWriter::give_way() {
  std::string before;
  try {
    if (writing_.valid()) before = writing_.get();
  } catch (const Error& error) {
    log_warning(error.what(), "; the present one takes its place");
  }
  if (!before.empty()) written(before);
}

std::exception_ptr CheckpointWriter::end(Outcome outcome) {
  try {
    finish();
  } catch (...) {
    std::exception_ptr error = std::current_exception();
    if (outcome == Outcome::failed) log_failure("train", error);
    return error;
  }
  return {};
}

}  // namespace belfry
