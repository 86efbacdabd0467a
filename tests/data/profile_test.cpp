#include "belfry/data/profile.h"

#include <chrono>
#include <map>
#include <thread>

#include "pipeline.h"

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

Transform slow(int workers) {
  return map(
      [](Features in) {
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
        return in;
      },
      {.workers = workers});
}

std::vector<InputStage> stages_after_all(const Dataset& dataset) {
  InputStreamPtr stream = open(dataset);
  words(*stream);
  return stream->stages();
}

TEST(Profile, CountsElementsAndBytesOfEachStage) {
  auto stages = stages_after_all(range(10) | repeat(2) | batch(4));
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_THAT(stages,
              ElementsAre(Field(&InputStage::name, "batch"), Field(&InputStage::name, "repeat"),
                          Field(&InputStage::name, "range")));
  EXPECT_EQ(stages[0].elements, 5);
  EXPECT_EQ(stages[1].elements, 20);
  EXPECT_EQ(stages[2].elements, 20);  // both passes
  EXPECT_EQ(stages[0].bytes, 5 * 4 * 8);
  EXPECT_EQ(stages[2].depth, 2);
}

TEST(Profile, StagesOfOneNameAreNumberedFromTheSource) {
  auto same = [](Features in) { return in; };
  auto names = [](const Dataset& data) {
    std::vector<std::string> out;
    for (const InputStage& stage : stages_after_all(data)) out.push_back(stage.name);
    return out;
  };
  EXPECT_THAT(names(range(3) | map(same) | batch(2) | map(same) | map(same, {.name = "decode"})),
              ElementsAre("map(decode)", "map 2", "batch", "map 1", "range"));
  EXPECT_THAT(names(range(3) | map(same) | batch(1)), ElementsAre("batch", "map", "range"));
  EXPECT_THAT(names(zip({{"a", range(3) | map(same)}, {"b", range(3) | map(same)}})),
              ElementsAre("zip", "map 1", "range 1", "map 2", "range 2"));
  // Stages of the datasets that elements are made into are numbered by themselves.
  auto inner = [=](Features) { return range(2) | map(same) | map(same); };
  EXPECT_THAT(names(range(1) | map(same) | flat_map(inner)),
              ElementsAre("flat_map", "map", "range", "map 2", "map 1", "range"));
}

TEST(Profile, AugmentationsHaveTheirNames) {
  Features image{{"image", Array::zeros({1, 2, 2, 1})}};
  Dataset data = from_arrays(image) | map(flip_horizontal(), {.seed = 1})
                 | map_and_batch(compose({rotate90()}), 1) | unbatch()
                 | map(flip_horizontal(), {.name = "again"});
  std::vector<std::string> names;
  for (const InputStage& stage : stages_after_all(data)) names.push_back(stage.name);
  EXPECT_THAT(names, ElementsAre("map(again)", "unbatch", "map_and_batch(compose)",
                                 "map(flip_horizontal)", "from_arrays"));
}

TEST(Profile, SaysWhoWorkedAndWhoWaited) {
  for (int workers : {1, 2}) {
    auto stages = stages_after_all(range(25) | slow(workers) | batch(5) | prefetch(2));
    const InputStage &prefetch = stages[0], &batch = stages[1], &map = stages[2];
    EXPECT_GT(map.busy, 25 * 0.004);
    EXPECT_LT(batch.busy, map.busy / 4);
    EXPECT_GT(batch.upstream, batch.busy);
    EXPECT_EQ(prefetch.busy, 0);
    EXPECT_EQ(map.workers, workers);
  }
}

TEST(Profile, SaysWhoWasHeldUp) {
  InputStreamPtr stream = open(range(2000) | prefetch(3));
  Features element;
  auto held_up = [&] {
    InputStage prefetch = stream->stages()[0];
    return prefetch.downstream > 0.01 && prefetch.queue > 1.0;
  };
  // On a busy machine its thread may come late.
  while (!held_up() && stream->next(element))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(held_up());
}

TEST(Profile, IsATable) {
  std::vector<InputStage> stages{{.name = "batch", .elements = 3, .bytes = 2048, .busy = 0.5},
                                 {.name = "map", .depth = 1, .elements = 96, .workers = 4}};
  EXPECT_EQ(
      to_string(stages),
      "stage   elements      bytes     busy  upstream  downstream  queue  buffer  workers\n"
      "batch          3    2.0 KiB   0.500 s   0.000 s     0.000 s    0.0       0        1\n"
      "  map         96        0 B   0.000 s   0.000 s     0.000 s    0.0       0        4\n");
}

TEST(Profile, OfAStreamIsExplained) {
  InputStreamPtr stream = open(range(4) | batch(2));
  words(*stream);
  std::string table = explain(*stream);
  EXPECT_EQ(table, to_string(stream->stages()));
  EXPECT_THAT(table, ::testing::HasSubstr("\nbatch            2       32 B"));
  EXPECT_THAT(table, ::testing::HasSubstr("\n  range          4       32 B"));
}

TEST(Profile, SaysWhereParallelMapsAreHeldUp) {
  InputStreamPtr stream = open(range(2000) | map([](Features f) { return f; }, {.workers = 2}));
  Features element;
  // On a busy machine its threads may come late.
  while (stream->stages()[0].downstream <= 0.01 && stream->next(element))
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  EXPECT_GT(stream->stages()[0].downstream, 0.01);
}

TEST(Profile, CountsDatasetsMadeFromElements) {
  auto inner = [](Features) { return range(3) | batch(2); };
  for (int workers : {1, 2}) {
    auto stages = stages_after_all(range(5) | interleave(inner, {.workers = workers}));
    std::map<std::string, std::int64_t> elements;
    for (const InputStage& stage : stages)
      elements[concat(stage.depth, " ", stage.name)] = stage.elements;
    EXPECT_EQ(elements,
              (std::map<std::string, std::int64_t>{
                  {"0 interleave", 10}, {"1 range", 5}, {"1 batch", 10}, {"2 range", 15}}));
  }
}

TEST(Profile, BytesAreThoseOfAllElementsThoughFewAreWeighed) {
  auto stages = stages_after_all(range(1000) | batch(10));
  EXPECT_EQ(stages[0].bytes, 8000);
  EXPECT_EQ(stages[1].bytes, 8000);
}

}  // namespace
}  // namespace belfry::data
