#include "scenarios.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "../../framework/base/temporary_folder.h"
#include "../../framework/train/resuming_model.h"
#include "belfry/data/augment/augment.h"
#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/data/formats/csv.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/data/formats/tfrecord.h"
#include "belfry/data/formats/wav.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/export/export_model.h"
#include "belfry/framework/export/predictor.h"
#include "belfry/framework/framework.h"
#include "belfry/framework/tensor/example.h"
#include "belfry/framework/tensor/safetensors.h"
#include "belfry/hooks/hooks.h"

namespace belfry {
namespace {

using Folder = TemporaryFolder;

std::string digest(const Features& features) {
  std::string out;
  for (const auto& [name, array] : features)
    out += concat(name, " ", array.type(), " ", crc32c(std::as_const(array).raw_bytes()), "; ");
  return out;
}

/// Reads or computes something, and always finds the same.
class Finds final : public Scenario {
 public:
  using Read = std::function<std::string(const Folder&)>;
  Finds(const std::function<void(const Folder&)>& write, Read read) : read_(std::move(read)) {
    write(folder_);
    expected_ = read_(folder_);
  }
  void run() override {
    found_.clear();
    found_ = read_(folder_);
  }
  void check(const std::string& where) override { EXPECT_EQ(found_, expected_) << where; }

 private:
  Folder folder_;
  Read read_;
  std::string found_, expected_;
};

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

RunConfig saving_each_step() {
  RunConfig config;
  config.save_checkpoint = Steps(1);
  config.keep_checkpoints.newest = 2;
  config.threads = 1;
  config.save_in_background = false;
  return config;
}

struct TrainingOptions {
  RunConfig run = saving_each_step();
  std::function<Hooks()> hooks = [] { return Hooks(); };
  int workers = 1;
};

/// Three steps from nothing. After a failure the same Estimator goes on to the third, and its
/// checkpoint can be read. It may lack a batch: the one whose reading has failed.
class Trains final : public Scenario {
 public:
  explicit Trains(TrainingOptions options) : options_(std::move(options)) {}

  void prepare() override {
    estimator_.reset();
    std::filesystem::remove_all(folder_ / "model");
  }
  void run() override { train(); }
  void check(const std::string& where) override {
    std::optional<Checkpoint> newest = load_latest_checkpoint(folder_ / "model");
    ASSERT_TRUE(newest) << where;
    EXPECT_EQ(newest->step, 3) << where;
  }

 private:
  void train() {
    if (!estimator_)
      estimator_ = std::make_unique<Estimator>(EstimatorOptions{
          .model_fn = resuming_model, .model_dir = folder_ / "model", .run = options_.run});
    estimator_->train(shuffled_digits_of(options_.workers),
                      {.max_steps = 3, .hooks = options_.hooks()});
  }

  TrainingOptions options_;
  Folder folder_;
  std::unique_ptr<Estimator> estimator_;
};

EstimatorSpec with_predictions(Scope s, const Batch& batch, Mode mode) {
  if (mode != Mode::predict) return resuming_model(s, batch, mode);
  Tensor x = dense(s / "in", batch["x"], {.units = 16});
  x = relu(batch_norm(s / "norm", x, {.training = false}));
  return {.predictions = {{"logits", dense(s / "out", x, {.units = 4})}}};
}

Features a_batch() {
  Array x({2, 6}, DType::f32);
  float value = 0;
  for (float& to : x.span<float>()) to = value += 0.25f;
  return {{"x", x}};
}

/// Work with a trained Estimator that finds the same each time.
class Uses final : public Scenario {
 public:
  using Use = std::function<std::string(Estimator&, const Folder&)>;
  explicit Uses(Use use)
      : use_(std::move(use)),
        estimator_({.model_fn = with_predictions,
                    .model_dir = folder_ / "model",
                    .run = saving_each_step()}) {
    estimator_.train(shuffled_digits(), {.max_steps = 3});
    checkpoint_ = read_file(*estimator_.latest_checkpoint());
    expected_ = use_(estimator_, folder_);
  }
  void run() override {
    found_.clear();
    found_ = use_(estimator_, folder_);
  }
  void check(const std::string& where) override {
    EXPECT_EQ(found_, expected_) << where;
    EXPECT_TRUE(read_file(*estimator_.latest_checkpoint()) == checkpoint_) << where;
  }

 private:
  Folder folder_;
  Use use_;
  Estimator estimator_;
  std::string found_, expected_, checkpoint_;
};

ExportOptions exports() {
  return {.signatures = {{"predict", {.inputs = {{"x", {{6}, DType::f32}}}}}}};
}

using Make = std::function<std::unique_ptr<Scenario>()>;

Make file(std::function<void(const Folder&)> write, Finds::Read read) {
  return [=] { return std::make_unique<Finds>(write, read); };
}
Make training(TrainingOptions options) {
  return [=] { return std::make_unique<Trains>(options); };
}
Make use(Uses::Use work) {
  return [=] { return std::make_unique<Uses>(work); };
}

void add_parsers(std::map<std::string, Make>& all) {
  auto nothing = [](const Folder&) {};
  all["read_safetensors"] = file(
      [](const Folder& f) {
        Features arrays = some_arrays();
        save_safetensors(f / "a", NamedArrays(arrays.begin(), arrays.end()), {{"by", "hand"}});
      },
      [](const Folder& f) {
        Features out;
        for (const auto& [name, array] : load_safetensors(f / "a").tensors) out.set(name, array);
        return digest(out);
      });
  all["read_npy"] =
      file([](const Folder& f) { data::write_npy(f / "a", some_arrays().at("numbers")); },
           [](const Folder& f) {
             return digest({{"a", data::read_npy(f / "a")}});
           });
  all["read_npz"] = file([](const Folder& f) { data::write_npz(f / "a", some_arrays()); },
                         [](const Folder& f) { return digest(data::read_npz(f / "a")); });
  all["read_csv"] = file(nothing, [](const Folder&) {
    data::CsvReader reader({{.name = "x", .type = data::CsvType::f32},
                            {.name = "w", .vocabulary = {"a", "b"}},
                            {.name = "t"}});
    std::string_view rest = "x,w,t\n1.5,a,\"some text, quoted\"\n2,b,more\n";
    std::string out;
    for (Features record; reader.next(rest, true, record);) out += digest(record);
    return out;
  });
  all["read_tfrecord"] = file(
      [](const Folder& f) {
        data::TfRecordWriter writer(f / "a");
        for (float x : {1.0f, 2.0f})
          writer.write(tf::Example{
              {{"x", std::vector<float>{x, x}}, {"w", std::vector<std::string>{"word"}}}}
                           .serialize());
        writer.close();
      },
      [](const Folder& f) {
        data::TfRecordReader reader(f / "a");
        std::vector<std::byte> record;
        std::string out;
        while (reader.next(record))
          out += digest(tf::parse_example(
              record, {{"x", tf::FixedLen{{2}, DType::f32}}, {"w", tf::VarLen{DType::u8}}}));
        return out;
      });
  auto decode = [](std::vector<std::byte> bytes) {
    return [bytes = std::move(bytes)](const Folder&) {
      return digest({{"image", data::decode_image(bytes)}});
    };
  };
  all["read_png"] = file(nothing, decode(data::encode_png(some_image())));
  all["read_jpeg"] = file(nothing, decode(data::encode_jpeg(some_image())));
  all["augment"] = file(nothing, [](const Folder&) {
    PhiloxStream random(philox_key(1, "augment"));
    data::Augmentation change = data::compose(
        {data::random_resized_crop({.height = 5, .width = 6}), data::flip_horizontal(),
         data::color_jitter({0.1, 0.1, 0.1, 0.1}), data::rotate({.degrees = {-9, 9}})});
    return digest(change({{"image", some_image()}}, random));
  });
}

void add_pipelines(std::map<std::string, Make>& all) {
  for (int workers : {1, 4})
    all[concat("pipeline_", workers, "_workers")] =
        file([](const Folder&) {},
             [=](const Folder&) {
               Dataset data = shuffled_digits_of(workers) | data::take(7);
               auto stream = data.open();
               std::string out;
               for (Features batch; stream->next(batch);) out += digest(batch);
               return out;
             });
}

void add_trainings(std::map<std::string, Make>& all) {
  all["train"] = training({});
  TrainingOptions background;
  background.run.save_in_background = true;
  all["train_saving_in_background"] = training(background);
  TrainingOptions towers;
  towers.run.devices = {"cpu:0", "cpu:1"};
  all["train_two_towers"] = training(towers);
  TrainingOptions four;
  four.workers = 4;
  all["train_four_workers"] = training(four);
  TrainingOptions hooked;
  hooked.hooks = [] {
    return Hooks{hooks::clip_by_global_norm(1), hooks::moving_average({.decay = 0.9}),
                 hooks::accumulate(2),          hooks::skip_non_finite(),
                 hooks::log_values(),           hooks::progress()};
  };
  all["train_with_hooks"] = training(hooked);
}

void add_uses(std::map<std::string, Make>& all) {
  all["plan"] = use([](Estimator& e, const Folder&) {
    std::string plan = e.plan(shuffled_digits());
    return plan.substr(0, plan.find("hooks:"));  // names of types, mangled where memory is short
  });
  all["evaluate"] = use([](Estimator& e, const Folder&) {
    return text(e.evaluate(shuffled_digits_of(1), {.steps = 4}).at("accuracy"));
  });
  all["predict"] =
      use([](Estimator& e, const Folder&) { return digest(e.predictor()(a_batch())); });
  all["predict_exported"] = use([](Estimator& e, const Folder& f) {
    if (!std::filesystem::exists(f / "once")) e.export_model(f / "once", exports());
    return digest(Predictor::load(f / "once")(a_batch()));
  });
  all["resume"] = use([](Estimator& e, const Folder&) {
    Estimator other({.model_fn = with_predictions, .model_dir = e.model_dir(), .run = e.config()});
    return digest({{"kernel", other.variable_value("in/kernel")}});
  });
  all["warm_start"] = use([](Estimator& e, const Folder& f) {
    Estimator other({.model_fn = with_predictions,
                     .model_dir = f / "warm",
                     .run = e.config(),
                     .warm_start = WarmStart{.from = *e.latest_checkpoint()}});
    return digest(other.predictor()(a_batch()));
  });
}

const std::map<std::string, Make>& scenarios() {
  static const std::map<std::string, Make> all = [] {
    set_log_sink([](LogLevel, std::string_view) {});
    std::map<std::string, Make> out;
    add_parsers(out);
    add_pipelines(out);
    add_trainings(out);
    add_uses(out);
    return out;
  }();
  return all;
}

}  // namespace

std::vector<std::string> scenario_names() {
  std::vector<std::string> out;
  for (const auto& [name, make] : scenarios()) out.push_back(name);
  return out;
}
std::unique_ptr<Scenario> make_scenario(const std::string& name) { return scenarios().at(name)(); }

}  // namespace belfry
