#include <filesystem>

#include "../../framework/train/resuming_model.h"
#include "belfry/data/data.h"
#include "belfry/framework/base/file.h"
#include "scenario_kinds.h"

namespace belfry {
namespace {

using namespace data;
using Folder = TemporaryFolder;

std::function<std::unique_ptr<Scenario>()> pipeline(std::function<Dataset(const Folder&)> make,
                                                    std::function<void(const Folder&)> write = {}) {
  return [=] {
    return std::make_unique<Finds>([=](const Folder& f) { return write ? write(f) : void(); },
                                   [=](const Folder& f) { return all_of(make(f)); });
  };
}

Dataset numbers(std::int64_t count) {
  return indexed(count, [](std::int64_t i, Features& out) {
    Array x(Shape{1 + i % 3}, DType::f32);
    for (float& to : x.span<float>()) to = static_cast<float>(i);
    out.set("x", x);
    out.set("label", Array::scalar(i % 2));
  });
}

std::int64_t whole(const Array& number) { return static_cast<std::int64_t>(number.item()); }
std::int64_t label(const Features& element) { return whole(element.at("label")); }

Features doubled(Features in) {
  Array x = in.at("x").clone();
  for (float& to : x.span<float>()) to *= 2;
  in.set("x", x);
  return in;
}

void add_grouping(Scenarios& all) {
  all["padded_batch"] = pipeline([](const Folder&) {
    return numbers(7) | padded_batch(3, {.lengths = {{"x", "n"}}});
  });
  all["bucket_by_length"] = pipeline([](const Folder&) {
    return numbers(9) | bucket_by_length("x", {.boundaries = {2}, .batch_sizes = {2, 3}});
  });
  all["group_by_window"] =
      pipeline([](const Folder&) { return numbers(9) | group_by_window(label, 2); });
  all["window_and_rebatch"] = pipeline([](const Folder&) {
    return range(9) | window(3, {.shift = 2}) | unbatch() | batch(4) | rebatch(3);
  });
  all["pack"] = pipeline([](const Folder&) {
    auto documents = indexed(5, [](std::int64_t i, Features& out) {
      Array tokens(Shape{i + 1}, DType::i32);
      for (std::int32_t& to : tokens.span<std::int32_t>()) to = static_cast<std::int32_t>(i);
      out.set("token", tokens);
    });
    return documents | data::pack(4);
  });
}

void add_sources(Scenarios& all) {
  all["from_arrays"] = pipeline([](const Folder&) {
    return from_arrays({{"x", some_arrays().at("numbers")}})
           | slices({{"first", {"x", 0, 2}}, {"rest", {"x", 2}}});
  });
  all["generator"] = pipeline([](const Folder&) {
    return generator([i = 0]() mutable {
             if (i == 5) throw EndOfData();
             return std::optional(Features{{"i", Array::scalar(i++)}});
           })
           | batch(2);
  });
}

void add_combinations(Scenarios& all) {
  all["zip_and_concatenate"] = pipeline([](const Folder&) {
    return zip({{"a", range(3)}, {"b", concatenate(range(2), range(2) | skip(1))}});
  });
  all["sample_from"] = pipeline([](const Folder&) {
    return sample_from({range(5), range(7) | take(4)}, {.weights = {1, 2}, .seed = 3});
  });
  all["choose_from"] = pipeline([](const Folder&) {
    return choose_from({range(3), range(3)}, [](std::int64_t step) { return step % 2; });
  });
  all["flat_map"] = pipeline([](const Folder&) {
    return range(4) | flat_map([](const Features& in) { return range(whole(in.begin()->second)); });
  });
  for (int workers : {1, 4})
    all[concat("interleave_", workers, "_workers")] = pipeline([=](const Folder&) {
      return range(4)
             | interleave([](const Features& in) { return range(whole(in.begin()->second)); },
                          {.cycle_length = 2, .workers = workers});
    });
}

void add_selection(Scenarios& all) {
  all["select"] = pipeline([](const Folder&) {
    return numbers(20) | filter([](const Features& in) { return label(in) == 1; }) | enumerate()
           | take_while([](const Features& in) { return in.at("index").item() < 7; }) | shard(2, 1);
  });
  all["rows_by_number"] = pipeline([](const Folder&) {
    return numbers(12) | select({1, 3, 5, 7, 2}) | shuffle(5, {.seed = 2})
           | filter([](const Features& in) { return label(in) == 1; }) | assert_cardinality(4)
           | with_options({.threads = 2}) | threads(2);
  });
  all["unique_and_resample"] = pipeline([](const Folder&) {
    return numbers(20) | rejection_resample(label, {0.5, 0.5}, {.initial = {0.5, 0.5}, .seed = 4})
           | unique({"x"});
  });
  all["scan_and_repeat"] = pipeline([](const Folder&) {
    auto sum = [](const Features& state, Features element) {
      Array next = Array::scalar(whole(state.at("sum")) + label(element));
      element.set("sum", next);
      return std::pair{Features{{"sum", next}}, element};
    };
    return numbers(4) | scan({{"sum", Array::scalar(std::int64_t{0})}}, sum) | repeat(2);
  });
}

Features good(Features in) {
  require(whole(in.at("x").cast(DType::i64)) != 3, "a bad element");
  return in;
}

void add_errors(Scenarios& all) {
  for (int workers : {1, 4})
    all[concat("skip_errors_", workers, "_workers")] = pipeline([=](const Folder&) {
      return from_arrays({{"x", Array::of<float>({1, 2, 3, 4, 3, 5})}})
             | map(good, {.workers = workers}) | on_error({.action = OnError::skip});
    });
  all["quarantine"] = [] {
    return std::make_unique<Finds>(
        [](const Folder&) {},
        [](const Folder& f) {
          std::filesystem::remove(f / "bad");
          std::string elements =
              all_of(from_arrays({{"x", Array::of<float>({1, 2, 3, 4, 3, 5})}}) | map(good)
                     | on_error({.action = OnError::skip, .quarantine = f / "bad"}));
          return concat(elements, read_file(f / "bad"), join(read_quarantine(f / "bad"), ","));
        });
  };
}

void add_kept(Scenarios& all) {
  all["cache"] = pipeline([](const Folder&) { return numbers(4) | cache() | repeat(2); });
  auto write = [](const Folder& f) { all_of(numbers(4) | cache(f / "cached")); };
  all["read_cache"] =
      pipeline([](const Folder& f) { return numbers(4) | cache(f / "cached"); }, write);
  all["write_cache"] = pipeline([](const Folder& f) {
    std::filesystem::remove(f / "cached");
    return numbers(4) | cache(f / "cached") | repeat(2);
  });
  all["write_snapshot"] = pipeline([](const Folder& f) {
    std::filesystem::remove(f / "kept");
    return numbers(4) | snapshot(f / "kept");
  });
  auto keep = [](const Folder& f) { all_of(numbers(4) | snapshot(f / "kept")); };
  all["read_snapshot"] = pipeline([](const Folder& f) { return from_snapshot(f / "kept"); }, keep);
}

void add_parallel(Scenarios& all, int workers) {
  auto name = [&](const char* what) { return concat(what, "_", workers, "_workers"); };
  all[name("pipeline")] =
      pipeline([=](const Folder&) { return shuffled_digits_of(workers) | take(7); });
  all[name("map")] = pipeline(
      [=](const Folder&) { return numbers(9) | map(doubled, {.workers = workers}) | prefetch(); });
  all[name("map_and_batch")] = pipeline([=](const Folder&) {
    return range(9) | map_and_batch([](Features in) { return in; }, 4, {.workers = workers})
           | prefetch_to_device();
  });
  all[name("map_into_batch")] = pipeline([=](const Folder&) {
    auto copy = [](Features in, Features& row, PhiloxStream&) {
      row.begin()->second.span<std::int64_t>()[0] = in.begin()->second.span<std::int64_t>()[0];
    };
    return range(9) | map_and_batch(copy, {{"value", {{}, DType::i64}}}, 4, {.workers = workers});
  });
}

}  // namespace

void add_pipelines(Scenarios& all) {
  for (int workers : {1, 4}) add_parallel(all, workers);
  add_grouping(all);
  add_sources(all);
  add_combinations(all);
  add_selection(all);
  add_errors(all);
  add_kept(all);
}

}  // namespace belfry
