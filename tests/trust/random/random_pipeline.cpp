#include "random_pipeline.h"

#include <string>
#include <utility>
#include <vector>

#include "belfry/data/cache/cache.h"
#include "belfry/data/combine/combine.h"
#include "belfry/data/grouping/grouping.h"
#include "belfry/data/selection/selection.h"
#include "belfry/data/sources/files.h"
#include "belfry/data/sources/sources.h"
#include "belfry/data/transforms/errors.h"
#include "belfry/data/transforms/transforms.h"
#include "random_augmentation.h"
#include "random_source.h"

namespace belfry::data {
namespace {

// Changes one byte of each array.
Features noisy(Features in, PhiloxStream& random) {
  for (auto& item : in) {
    auto bytes = item.second.raw_bytes();
    if (!bytes.empty())
      bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1 + random.below(255));
  }
  return in;
}

// Writes into its row of a batch.
void twice(Features in, Features& row, PhiloxStream&) {
  const Array& x = in.at("x");
  require(x.type() == row.at("x").type(), "no x of three numbers");
  for (std::int64_t i = 0; i < 3; ++i) row.at("x").span<float>()[i] = 2 * x.span<float>()[i];
}

std::pair<Features, Features> mark_by_sum(const Features& state, Features in) {
  const std::int64_t sum = state.at("sum").span<std::int64_t>()[0] + digest(in);
  auto bytes = in.begin()->second.raw_bytes();
  if (!bytes.empty()) bytes[0] ^= static_cast<std::byte>(sum & 0xff);
  return {{{"sum", Array::scalar(sum)}}, std::move(in)};
}

// The element `count` times, or an Error for one in seven.
Dataset copies(const Features& element, std::int64_t count) {
  require(digest(element) % 7 != 3, "this one cannot be opened");
  Features rows;
  for (const auto& [name, array] : element) {
    std::vector<std::int64_t> sizes{1};
    for (std::int64_t size : array.shape()) sizes.push_back(size);
    rows.set(name, array.reshape(Shape(sizes)));
  }
  return from_arrays(rows) | repeat(count);
}

class Builder {
 public:
  Builder(const PipelineFiles& files, const RandomPipelineOptions& options)
      : files_(files),
        options_(options),
        random_(philox_key(options.seed, "random pipeline")),
        kind_(static_cast<ElementKind>(random_.below(3))),
        data_(source()),
        divisible_(data_) {}

  RandomPipeline build() {
    for (std::uint64_t i = 0, stages = 1 + random_.below(6); i < stages; ++i) add();
    if (random_.below(2) == 0)
      join("batch(3)", kind_ == ElementKind::texts ? padded_batch(3) : batch(3));
    if (random_.below(4) == 0) join("prefetch", prefetch());
    if (random_.below(4) == 0) join("threads(2)", threads(2));
    return {data_, divisible_, text_};
  }

 private:
  std::int64_t draw(std::int64_t low, std::int64_t high) { return data::draw(random_, low, high); }
  std::string new_file(const char* what) {
    return concat(options_.folder, "/", what, files_made_++);
  }

  // A stage behind which shares may be other elements than the whole.
  void join(const std::string& text, const Transform& transform) {
    data_ = data_ | transform;
    text_ += " | " + text;
    divides_ = false;
  }
  // One behind which they are not, if they were not before it.
  void join_divisible(const std::string& text, const Transform& transform) {
    const bool divides = divides_;
    join(text, transform);
    divides_ = divides;
    if (divides_) divisible_ = data_;
  }
  // The same where elements must still have the numbers that the source gave them.
  void join_numbered(const std::string& text, const Transform& transform) {
    numbered_ ? join_divisible(text, transform) : join(text, transform);
  }
  // A stage that numbers elements anew.
  void join_numbering(const std::string& text, const Transform& transform) {
    join_divisible(text, transform);
    numbered_ = false;
  }

  Dataset source();

  void add();
  void add_elementwise(std::int64_t which);
  void add_order(std::int64_t which);
  void add_grouping(std::int64_t which);
  void add_combination(std::int64_t which);
  void add_kept(std::int64_t which);
  void add_of_kind();

  const PipelineFiles& files_;
  const RandomPipelineOptions& options_;
  PhiloxStream random_;
  int files_made_ = 0, names_made_ = 0;
  bool divides_ = true, numbered_ = true;
  std::string text_;
  ElementKind kind_;
  Dataset data_, divisible_;
};

Dataset Builder::source() {
  const RandomSource found = random_source(files_, kind_, options_.workers, random_);
  text_ += found.text;
  numbered_ &= found.numbered;
  return found.dataset;
}

void Builder::add_elementwise(std::int64_t which) {
  const std::int64_t n = draw(2, 7);
  const int workers = options_.workers;
  switch (which) {
    case 0:
      return join_numbered(concat("map(noisy ", n, ")"),
                           map(noisy, {.workers = workers, .seed = 3}));
    case 1:
      return join_divisible(concat("filter(", n, ")"),
                            filter([n](const Features& f) { return digest(f) % n != 0; }));
    case 2:
      return join_numbered(concat("map(failing ", n, ")"), map(
                                                               [n](Features f) {
                                                                 require(digest(f) % n != 0, "bad");
                                                                 return f;
                                                               },
                                                               {.workers = workers}));
    case 3:
      return join("on_error",
                  on_error({.action = OnError::skip, .max_count = 1'000'000, .max_ratio = 1}));
    case 4:
      return join_divisible("take_while",
                            take_while([](const Features& f) { return digest(f) % 29 != 0; }));
    case 5:
      return join_divisible("scan", scan({{"sum", Array::scalar(n)}}, mark_by_sum));
    case 6:
      return join_divisible("unique", unique());
    case 7:
      return join(
          "rejection_resample",
          rejection_resample([](const Features& f) { return digest(f) % 2; }, {1, 2}, {.seed = 4}));
    default: {
      std::string name = concat("number", names_made_++);
      return join_divisible(concat("enumerate(", name, ")"), enumerate(name));
    }
  }
}

void Builder::add_order(std::int64_t which) {
  const std::int64_t n = draw(1, 9);
  switch (which) {
    case 0:
      return join_divisible(concat("shuffle(", 2 * n, ")"), shuffle(2 * n, {.seed = 9}));
    case 1:
      return join_divisible("shuffle(1000)", shuffle(1000, {.seed = 5}));
    case 2:  // a share of which a pass is empty is not read again
      return data_.cardinality() < 9 ? join("repeat(2)", repeat(2))
                                     : join_divisible("repeat(2)", repeat(2));
    case 3:
      join("repeat", repeat());
      return join(concat("take(", 9 * n, ")"), take(9 * n));
    case 4:
      return join_divisible(concat("take(", 5 * n, ")"), take(5 * n));
    case 5:
      return join_divisible(concat("skip(", n, ")"), skip(n));
    case 6:
      return join_divisible(concat("shard(", n, ", ", n / 2, ")"), shard(n, n / 2));
    case 7: {
      std::vector<std::int64_t> places{0, n, n + 2, 3 * n + 2};
      std::erase_if(places, [end = data_.cardinality()](auto i) { return end >= 0 && i >= end; });
      return join("select", select(places));
    }
    case 8: {
      const std::int64_t size = data_.cardinality(), said = size < 0 ? 3 * n : size;
      return join(concat("assert_cardinality(", said, ")"), assert_cardinality(said));
    }
    default:
      return join_divisible(concat("prefetch(", n, ")"), prefetch(n));
  }
}

void Builder::add_grouping(std::int64_t which) {
  const std::int64_t n = draw(1, 5);
  auto key = [](const Features& f) { return digest(f) % 3; };
  auto length = [n](const Features& f) { return digest(f) % (n + 4); };
  switch (which) {
    case 0:
      join(concat("batch(", n, ")"), batch(n));
      break;
    case 1:
      join(concat("map_and_batch(", n, ")"),
           map_and_batch(noisy, n, {.workers = options_.workers, .seed = 6}));
      break;
    case 2:
      join(concat("padded_batch(", n, ")"), padded_batch(n));
      break;
    case 3:
      join(concat("window(", n, ")"), window(n, {.shift = 2}));
      break;
    case 4:
      join(concat("batch(", n, ") | rebatch"), [n](const Dataset& data) {
        return data | batch(n) | rebatch({2, 0, n});
      });
      break;
    case 5:
      join(concat("group_by_window(", n, ")"), group_by_window(key, n));
      break;
    case 6:
      join("bucket_by_length",
           bucket_by_length(length, {.boundaries = {2, 5}, .batch_sizes = {2, 3, n}}));
      break;
    default:
      join("bucket_by_length(tokens)",
           bucket_by_length(length, {.boundaries = {2, n + 4}, .tokens = 16}));
  }
  join("unbatch", unbatch());
  numbered_ = false;
}

void Builder::add_combination(std::int64_t which) {
  const std::int64_t n = draw(1, 5);
  auto some = [n](const Features& f) { return copies(f, digest(f) % (n + 1)); };
  auto some_noisy = [some](const Features& f) { return some(f) | map(noisy, {.seed = 8}); };
  if (which >= 4) {
    text_ += " + (";
    Dataset other = source();
    text_ += ")";
    if (which == 4) return join_numbering("concatenate", concatenate(other));
    if (which == 5)
      return join_numbering("sample_from", [other](const Dataset& data) {
        return sample_from({data, other}, {.weights = {2, 1}, .seed = 2});
      });
    join("choose_from", [other, n](const Dataset& data) {
      return choose_from({data, other}, [n](std::int64_t i) { return i % (n + 1) == 0; });
    });
    numbered_ = false;
    return;
  }
  if (which == 0) {
    join("flat_map", flat_map(some_noisy));
  } else if (which == 1) {
    join(concat("interleave(", n, ")"),
         interleave(some_noisy,
                    {.cycle_length = n, .block_length = 2, .workers = options_.workers}));
  } else if (which == 2) {
    join(concat("interleave(", n, ", shuffled)"),
         interleave(
             [some](const Features& f) { return some(f) | shuffle(9) | batch(2) | unbatch(); },
             {.cycle_length = 2, .block_length = n, .workers = options_.workers}));
  } else {
    std::string name = concat("other", names_made_++);
    join_divisible(concat("zip(", 9 * n, ")"), [name, n](const Dataset& data) {
      return zip({{"", data}, {name, range(9 * n)}});
    });
  }
  numbered_ = false;
}

void Builder::add_kept(std::int64_t which) {
  const std::int64_t n = draw(1, 6);
  switch (which) {
    case 0:
      return join_divisible("cache", cache({.memory = Bytes(n * 700)}));
    case 1:
      return join("cache(file)", cache(new_file("cache")));
    case 2:  // an Error in the place of an element would leave no dataset at all
      join("on_error", on_error({.action = OnError::skip, .max_count = 1'000'000, .max_ratio = 1}));
      join("take(99)", take(99));
      return join("snapshot", snapshot(new_file("snapshot")));
    case 3:
      return join_divisible("with_options",
                            with_options({.threads = static_cast<int>(n), .memory = Bytes(0)}));
    default:
      return join_divisible(concat("prefetch_to_device(", n, ")"),
                            prefetch_to_device({.buffers = n}));
  }
}

void Builder::add_of_kind() {
  const std::int64_t n = draw(1, 8), which = draw(0, 4);
  const int workers = options_.workers;
  if (kind_ == ElementKind::images) {
    Augmentation change = random_augmentation(random_);
    if (which > 0)
      return join_numbered(concat("map(", to_string(change), ")"),
                           map(change, {.workers = workers, .seed = 1}));
    join("batch(3) | mixup", [workers](const Dataset& data) {
      return data | batch(3) | map(mixup({.classes = 7}), {.workers = workers});
    });
    return join("unbatch", unbatch());
  }
  if (kind_ == ElementKind::rows) {
    if (which > 1)
      return join_divisible("map", map([](Features f) { return f; }, {.workers = workers}));
    join(concat("map_and_batch(row, ", n, ")"),
         map_and_batch(twice, {{"x", {{3}, DType::f32}}}, n, {.workers = workers}));
    join("unbatch", unbatch());
    numbered_ = false;
    return;
  }
  join("map(only_texts)", map(only_texts, {.workers = workers}));
  if (which == 0) return join(concat("pack(", n, ")"), pack(n));
  if (which == 1)
    return join(concat("pack(", n + 4, ", whole)"),
                pack(n + 4, {.label = "label", .split = false, .open_rows = 2}));
  if (which == 2) return join("slices", slices({{"token", {"token", 0, 2}}}));
  if (which == 3) join("shuffle(5)", shuffle(5));
  join("bucket_by_length(token)", bucket_by_length("token", {.boundaries = {3, 6},
                                                             .batch_sizes = {2, 3, n},
                                                             .padded = {.default_padding = -1}}));
  join("unbatch", unbatch());
  numbered_ = false;
}

void Builder::add() {
  switch (draw(0, 7)) {
    case 0:
    case 1:
      return add_elementwise(draw(0, 8));
    case 2:
    case 3:
      return add_order(draw(0, 9));
    case 4:
      return add_grouping(draw(0, 7));
    case 5:
      return add_combination(draw(0, 6));
    case 6:
      return add_kept(draw(0, 4));
    default:
      return add_of_kind();
  }
}

}  // namespace

RandomPipeline random_pipeline(const PipelineFiles& files, const RandomPipelineOptions& options) {
  return Builder(files, options).build();
}

}  // namespace belfry::data
