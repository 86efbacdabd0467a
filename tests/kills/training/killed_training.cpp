// A training that waits for its end: killed_training KIND MODEL_DIR STEPS BACKGROUND DATA_DIR. It
// goes on from the checkpoints in MODEL_DIR, saves after every step, in the background if that is
// 1, and adds a line to MODEL_DIR.saved for each checkpoint of which it is told that it is durable:
// the step and the CRC-32C of the file. One kind evaluates each step, and keeps and exports the
// best. Its process id is in MODEL_DIR.pid_<rank>. DATA_DIR has MNIST.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "../../framework/train/resuming_model.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/distribute/workers.h"
#include "belfry/hooks/hooks.h"
#include "belfry/models/gan/estimators.h"
#include "belfry/models/images/lenet.h"
#include "belfry/models/sequences/gpt.h"

namespace belfry {
namespace {

struct Kind {
  ModelFn model_fn;
  InputFn input;
  Hooks hooks = {};
  std::vector<EvalSpec> evaluations = {};
  /// Cut over two devices; both blocks are computed again in the backward pass.
  bool split = false;
};

Dataset batches_of(const Dataset& digits) {
  return digits | data::shuffle(100) | data::repeat() | data::batch(8) | data::prefetch();
}

// "image" [8, 8, 1] in -1..1.
Dataset noisy_images() {
  auto read = [](std::int64_t i, Features& out) {
    Array image(Shape{8, 8, 1}, DType::f32);
    PhiloxStream random(philox_key(4, static_cast<std::uint64_t>(i)));
    for (float& x : image.span<float>()) x = random.uniform(-1, 1);
    out.set("image", image);
  };
  return batches_of(data::indexed(44, read));
}

// Rows of 24 tokens, each with two documents.
Dataset two_documents_a_row() {
  auto read = [](std::int64_t i, Features& out) {
    PhiloxStream random(philox_key(5, static_cast<std::uint64_t>(i)));
    Array token(Shape{24}, DType::i32), label(Shape{24}, DType::i32),
        position(Shape{24}, DType::i32);
    std::int32_t first = 1 + static_cast<std::int32_t>(random.next_u32() % 23);
    for (std::int32_t at = 0; at < 24; ++at) {
      token.span<std::int32_t>()[at] = static_cast<std::int32_t>(random.next_u32() % 50);
      label.span<std::int32_t>()[at] = at + 1 == first ? -1 : (at * 7 + first) % 50;
      position.span<std::int32_t>()[at] = at < first ? at : at - first;
    }
    out = {{"token", token}, {"label", label}, {"position", position}};
  };
  return batches_of(data::indexed(44, read));
}

// Rows of 24 tokens of four files, which are begun in another order each time. They are written
// whole or not at all, and with the same bytes each time.
Dataset rows_of_files(const std::string& dir) {
  std::vector<std::string> paths;
  for (std::uint64_t number = 0; number < 4; ++number) {
    std::vector<std::uint16_t> tokens(11 * 24 + 1);
    PhiloxStream random(philox_key(6, number));
    for (std::uint16_t& token : tokens) token = static_cast<std::uint16_t>(random.below(50));
    paths.push_back(concat(dir, ".tokens_", number));
    write_file_atomically(paths.back(), std::as_bytes(std::span(tokens)));
  }
  return batches_of(data::files(paths) | data::shuffle(4)
                    | data::interleave(data::read_token_file({.length = 24})));
}

Kind kind_of(const std::string& name, const std::string& dir, const std::string& data_dir) {
  ModelFn lenet = models::lenet({.hidden = 128});  // 5 MB with Adam's slots: kills meet writes
  if (name == "digits") {
    ExportOptions images{
        .signatures = {{"predict", {.inputs = {{"image", {{28, 28, 1}, DType::f32}}}}}},
        .onnx = false};
    EvalSpec each_step{
        .input_fn = data::drawn_digits({.count = 32, .workers = 1}) | data::batch(32),
        .every = Steps(1),
        .keep_best = 1,
        .exporters = {best_exporter({.model = images, .keep = 1})}};
    return {lenet, batches_of(data::drawn_digits({.count = 300, .workers = 1})), {}, {each_step}};
  }
  if (name == "mnist") return {lenet, batches_of(data::mnist(data_dir, data::Split::train))};
  if (name == "gan")
    return {gan::gan(gan::dcgan({.size = 8, .filters = 3, .noise = 4})), noisy_images()};
  if (name == "language" || name == "split") {
    bool split = name == "split";
    ModelFn gpt = models::gpt({.vocabulary = 50,
                               .depth = 2,
                               .width = 96,
                               .heads = 4,
                               .kv_heads = 2,
                               .block = models::GptBlock::llama,
                               .dropout = 0.2f});  // within attention, too
    return {gpt, split ? rows_of_files(dir) : two_documents_a_row(), {}, {}, split};
  }
  if (name == "averaged")
    return {resuming_model,
            shuffled_digits(),
            {hooks::moving_average({.decay = 0.9}), hooks::accumulate(3)}};
  require(name == "workers", "no kind of training is called ", name);
  return {resuming_model, shuffled_digits()};
}

struct Saved final : CheckpointListener {
  explicit Saved(const std::string& path)
      : descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
  ~Saved() override { ::close(descriptor); }
  void after_save(HookContext&, const std::string& path) override {
    std::string bytes = read_file(path);
    std::string line =
        concat(load_checkpoint(path).step, " ", crc32c(std::as_bytes(std::span(bytes))), "\n");
    auto written = ::write(descriptor, line.data(), line.size());  // at once: a kill cuts no line
    ensure(written == static_cast<ssize_t>(line.size()), "cannot write ", line);
  }
  int descriptor;
};

void train(const std::string& kind_name, const std::string& dir, std::int64_t steps,
           bool background, const std::string& data_dir) {
  auto workers = find_workers();
  std::ofstream(concat(dir, ".pid_", workers->rank())) << ::getpid();
  Kind kind = kind_of(kind_name, dir, data_dir);
  RunConfig config;
  config.save_checkpoint = Steps(1);
  config.keep_checkpoints.newest = 2;
  config.save_in_background = background;
  config.threads = 1;
  if (kind.split) {
    config.devices = {"cpu:0+cpu:1"};
    config.split = auto_split(2);
    config.recompute.scopes = {"block0", "block1"};
  }
  config.batch = workers->count() > 1 ? BatchPolicy::per_worker : config.batch;
  Estimator estimator({.model_fn = kind.model_fn, .model_dir = dir, .run = config});
  train_and_evaluate(estimator,
                     {kind.input,
                      {.max_steps = steps,
                       .hooks = kind.hooks,
                       .listeners = {std::make_shared<Saved>(dir + ".saved")}}},
                     kind.evaluations);
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  try {
    belfry::train(argv[1], argv[2], std::stoll(argv[3]), std::string(argv[4]) == "1", argv[5]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
