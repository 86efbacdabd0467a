#include "train_work.h"

#include <map>
#include <sstream>

#include "belfry/framework/tensor/philox.h"
#include "belfry/models/models.h"

namespace belfry::bench {
namespace {

// Random arrays of one batch.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(philox_key(seed, "batch")) {}

  Array uniform(const Shape& shape, float low = 0, float high = 1) {
    Array out(shape, DType::f32);
    for (float& x : out.span<float>()) x = random_.uniform(low, high);
    return out;
  }
  Array normal(const Shape& shape) {
    Array out(shape, DType::f32);
    for (float& x : out.span<float>()) x = static_cast<float>(random_.normal());
    return out;
  }
  Array zeros_and_ones(const Shape& shape) {
    Array out(shape, DType::f32);
    for (float& x : out.span<float>()) x = static_cast<float>(random_.below(2));
    return out;
  }
  // Whole numbers in [first, end).
  Array whole(const Shape& shape, std::int64_t first, std::int64_t end) {
    Array out(shape, DType::i64);
    for (std::int64_t& x : out.span<std::int64_t>())
      x = first + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(end - first)));
    return out;
  }

 private:
  PhiloxStream random_;
};

Array all(std::int64_t n, std::int64_t value) {
  Array out(Shape{n}, DType::i64);
  for (std::int64_t& x : out.span<std::int64_t>()) x = value;
  return out;
}

// With the batch size in front.
Shape example_shape(const WorkOptions& o) {
  static const std::map<std::string, std::string> usual{
      {"acoustic", "400,80"},        {"gpt", "256"},
      {"lenet", "28,28,1"},          {"mlp", "28,28,1"},
      {"mobilenet_v2", "224,224,3"}, {"resnet50", "224,224,3"},
      {"swin_tiny", "224,224,3"},    {"transformer", "128"},
      {"unet3d", "64,64,64,1"},      {"unet", "512,512,1"}};
  auto found = usual.find(o.model);
  std::istringstream list(!o.sizes.empty()       ? o.sizes
                          : found == usual.end() ? "32,32,3"
                                                 : found->second);
  std::vector<std::int64_t> sizes{o.batch_size};
  for (std::string size; std::getline(list, size, ',');) sizes.push_back(std::stoll(size));
  return Shape(sizes);
}

Features images(const WorkOptions& o, Draw draw) {
  Shape shape = example_shape(o);
  Features out{{"image", draw.uniform(shape)}};
  if (o.model.starts_with("unet"))
    out.set("mask", draw.zeros_and_ones(shape.with(shape.rank() - 1, 1)));
  else
    out.set("label", draw.whole(Shape{o.batch_size}, 0, 10));
  return out;
}

Features tokens(const WorkOptions& o, Draw draw) {
  Array token = draw.whole(example_shape(o), 0, 1000);
  return {{"token", token}, {"label", draw.whole(Shape{o.batch_size}, 0, 10)}};
}

// Texts, with the token that comes next at each place.
Features texts(const WorkOptions& o, Draw draw) {
  Array token = draw.whole(example_shape(o), 0, 1000);
  return {{"token", token}, {"label", draw.whole(example_shape(o), 0, 1000)}};
}

// Rows are full, so that frames that mean nothing cost nobody anything; a label for eight frames.
Features sound(const WorkOptions& o, Draw draw) {
  Shape shape = example_shape(o);
  std::int64_t n = o.batch_size, labels = std::max<std::int64_t>(1, shape[1] / 8);
  return {{"audio", draw.normal(shape)},
          {"audio_length", all(n, shape[1])},
          {"label", draw.whole(Shape{n, labels}, 1, 27)},
          {"label_length", all(n, labels)}};
}

// Clicks on advertisements: numbers, and identities of which each has a table.
constexpr int number_count = 13, table_count = 26;

std::string table_name(int i) { return concat("c", i); }

Features clicks(const WorkOptions& o, Draw draw) {
  std::int64_t n = o.batch_size;
  Features out{{"numbers", draw.uniform(Shape{n, number_count})},
               {"label", draw.zeros_and_ones(Shape{n})}};
  for (int i = 0; i < table_count; ++i) out.set(table_name(i), draw.whole(Shape{n}, 0, o.rows));
  return out;
}

ModelFn tables(const WorkOptions& o) {
  models::Columns columns{.numeric = {{.feature = "numbers"}}};
  for (int i = 0; i < table_count; ++i)
    columns.categorical.push_back({.feature = table_name(i), .categories = o.rows, .width = 16});
  require(o.optimizer == "adagrad" || o.optimizer == "sgd" || o.optimizer == "adam",
          "--optimizer of tables must be adagrad, sgd or adam, got ", o.optimizer,
          "; other models take an optimizer in --options");
  Optimizer optimizer = o.optimizer == "adagrad" ? adagrad({.learning_rate = 0.05})
                        : o.optimizer == "sgd"   ? sgd({.learning_rate = 0.05})
                                                 : adam();
  return models::dnn({.columns = columns, .hidden = {256, 128}, .optimizer = optimizer});
}

const gan::DcganOptions networks{.size = 64, .channels = 3};

Features noisy_images(const WorkOptions& o, Draw draw) {
  return {{"image", draw.uniform(Shape{o.batch_size, 64, 64, 3}, -1, 1)},
          {"noise", draw.normal(Shape{o.batch_size, networks.noise})}};
}

ModelFn dcgan64() {
  gan::GanOptions options = gan::dcgan(networks);
  options.generator = [](const Scope& s, const Batch& batch, Mode mode) {
    return gan::dcgan_images(s, batch["noise"], networks, mode);
  };
  return gan::gan(options);
}

std::vector<Features> batches(const WorkOptions& o, int count,
                              Features (*make)(const WorkOptions&, Draw)) {
  std::vector<Features> out;
  for (int seed = 0; seed < count; ++seed)
    out.push_back(make(o, Draw(static_cast<std::uint64_t>(seed))));
  return out;
}

}  // namespace

Work make_work(const WorkOptions& o) {
  // Several where it matters which rows of memory a step touches; two for the two halves of a
  // round.
  if (o.model == "tables") return {tables(o), batches(o, 32, clicks)};
  if (o.model == "dcgan64") return {dcgan64(), batches(o, 2, noisy_images)};
  auto features = o.model == "acoustic"      ? sound
                  : o.model == "transformer" ? tokens
                  : o.model == "gpt"         ? texts
                                             : images;
  return {models::make(o.model, o.options), batches(o, 1, features)};
}

}  // namespace belfry::bench
