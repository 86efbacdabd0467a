#include "scenario_kinds.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "../../framework/train/resuming_model.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/framework.h"

namespace belfry {

std::string digest(const Features& features) {
  std::string out;
  for (const auto& [name, array] : features)
    out += concat(name, " ", array.type(), " ", crc32c(std::as_const(array).raw_bytes()), "; ");
  return out;
}

std::string digest_of(const NamedArrays& arrays) {
  Features features;
  for (const auto& [name, array] : arrays) features.set(name, array);
  return digest(features);
}

std::string all_of(const Dataset& dataset) {
  auto stream = dataset.open();
  std::string out;
  for (Features element; stream->next(element);) out += digest(element);
  return out;
}

Features some_arrays() {
  Array numbers({3, 5}, DType::f32), words({7}, DType::u8);
  float x = 0;
  for (float& to : numbers.span<float>()) to = x += 0.5f;
  std::uint8_t byte = 'a';
  for (std::uint8_t& to : words.span<std::uint8_t>()) to = byte++;
  return {{"numbers", numbers}, {"words", words}};
}

Array some_image() {
  Array image({9, 7, 3}, DType::u8);
  std::uint8_t x = 0;
  for (std::uint8_t& to : image.span<std::uint8_t>()) to = x += 37;
  return image;
}

Features a_batch() {
  Array x({2, 6}, DType::f32);
  float value = 0;
  for (float& to : x.span<float>()) to = value += 0.25f;
  return {{"x", x}};
}

EstimatorSpec with_predictions(Scope s, const Batch& batch, Mode mode) {
  if (mode != Mode::predict) return resuming_model(s, batch, mode);
  Tensor x = dense(s / "in", batch["x"], {.units = 16});
  x = relu(batch_norm(s / "norm", x, {.training = false}));
  return {.predictions = {{"logits", dense(s / "out", x, {.units = 4})}}};
}

ExportOptions exports() {
  return {.signatures = {{"predict", {.inputs = {{"x", {{6}, DType::f32}}}}}}};
}

RunConfig saving_each_step() {
  RunConfig config;
  config.save_checkpoint = Steps(1);
  config.keep_checkpoints.newest = 2;
  config.threads = 1;
  config.save_in_background = false;
  return config;
}

Finds::Finds(const std::function<void(const TemporaryFolder&)>& write, Read read)
    : read_(std::move(read)) {
  write(folder_);
  expected_ = read_(folder_);
  files_ = folder_.names();
}
void Finds::run() {
  found_.clear();
  found_ = read_(folder_);
}
void Finds::check(const std::string& where) {
  EXPECT_EQ(found_, expected_) << where;
  EXPECT_EQ(folder_.names(), files_) << where;
}

// The newest step of which a checkpoint was reported. Allocates nothing.
class Trains::Saved final : public CheckpointListener {
 public:
  void after_save(HookContext&, const std::string& path) override {
    step = std::atoll(path.c_str() + path.rfind('-') + 1);
  }
  std::int64_t step = 0;
};

namespace {

std::map<std::int64_t, std::string> digests_of_checkpoints(const std::string& model_dir) {
  std::map<std::int64_t, std::string> out;
  for (const CheckpointFile& file : list_checkpoints(model_dir)) {
    Checkpoint found = load_checkpoint(file.path);
    out[file.step] = concat(found.step, ": ", digest_of(found.variables), found.input);
  }
  return out;
}

}  // namespace

Trains::Trains(TrainingOptions options)
    : options_(std::move(options)), saved_(std::make_shared<Saved>()) {
  RunConfig keeping_all = options_.run;
  keeping_all.keep_checkpoints.newest = 0;
  train(keeping_all);
  expected_ = digests_of_checkpoints(folder_ / "model");
}
void Trains::prepare() {
  estimator_.reset();
  std::filesystem::remove_all(folder_ / "model");
  saved_->step = 0;
  recovered_ = false;
}
void Trains::train(const RunConfig& config) {
  if (!estimator_)
    estimator_ = std::make_unique<Estimator>(EstimatorOptions{
        .model_fn = with_predictions, .model_dir = folder_ / "model/", .run = config});
  TrainOptions to_third{.max_steps = 3, .listeners = {saved_}};
  if (options_.train) {
    options_.train(*estimator_, folder_, to_third);
  } else {
    estimator_->train(shuffled_digits_of(1), to_third);
  }
}
void Trains::run() { train(options_.run); }
void Trains::recover(const std::string& where) {
  std::int64_t newest = 0;
  for (const auto& [step, found] : digests_of_checkpoints(folder_ / "model")) {
    EXPECT_EQ(found, expected_[step]) << where;
    newest = step;
  }
  EXPECT_GE(newest, saved_->step) << where << ": a checkpoint is lost";
  recovered_ = true;
  run();
}
void Trains::check(const std::string& where) {
  std::map<std::int64_t, std::string> found = digests_of_checkpoints(folder_ / "model");
  ASSERT_TRUE(found.contains(3)) << where;
  EXPECT_TRUE(recovered_ || found[3] == expected_[3]) << where << ": other weights";
}

Uses::Uses(Use use)
    : use_(std::move(use)),
      estimator_({.model_fn = with_predictions,
                  .model_dir = folder_ / "model",
                  .run = saving_each_step()}) {
  estimator_.train(shuffled_digits(), {.max_steps = 3});
  checkpoint_ = read_file(*estimator_.latest_checkpoint());
  expected_ = use_(estimator_, folder_);
}
void Uses::run() {
  found_.clear();
  found_ = use_(estimator_, folder_);
}
void Uses::check(const std::string& where) {
  EXPECT_EQ(found_, expected_) << where;
  EXPECT_TRUE(read_file(*estimator_.latest_checkpoint()) == checkpoint_) << where;
}

}  // namespace belfry
