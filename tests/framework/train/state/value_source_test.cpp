#include "belfry/framework/train/state/value_source.h"

#include "../training_testing.h"
#include "belfry/framework/tensor/safetensors.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

VariableOptions named(const std::string& name) { return {.name = name, .type = {{}, DType::f32}}; }
std::optional<FoundValue> take(ValueSource& source, const VariableOptions& options) {
  auto found = source.find(options);
  source.given(options.name);
  return found;
}
Array number(float x) { return Array::of({x}).reshape({}); }

TEST(ValueSources, OfNothingLeaveFirstValues) {
  ValueSource source({}, 1);
  EXPECT_FALSE(take(source, named("w")));
  EXPECT_FALSE(source.restored());
  EXPECT_FALSE(source.warm_starts());
  EXPECT_EQ(source.warm_up({}, 1, Mode::train), "");
}

TEST(ValueSources, GiveEachValueOfACheckpointAwayOnce) {
  ValueSource source({}, 1);
  source.restore({{"w", number(3)}, {"b", number(4)}}, {.name = "the file", .remedy = "mend it"});
  EXPECT_TRUE(source.restored());
  EXPECT_EQ(take(source, named("w"))->common.item(), 3);
  EXPECT_FALSE(take(source, named("w")));
  ASSERT_EQ(source.waiting().size(), 1u);
  EXPECT_EQ(source.waiting().begin()->first, "b");
  EXPECT_EQ(error_of([&] {
              take(source, {.name = "b", .type = {{2}, DType::f32}});
            }),
            "the file has variable `b` as f32[] but the model asks for f32[2]; mend it");
  source.restore({{"w", number(5)}}, {});
  EXPECT_EQ(take(source, named("w"))->common.item(), 5);
  EXPECT_FALSE(take(source, named("b")));
}

TEST(ValueSources, WarnOfASlotThatIsNotThere) {
  ValueSource source({}, 1);
  VariableOptions slot = named("w/momentum");
  slot.kind = VariableKind::slot;
  CapturedLog log;
  EXPECT_FALSE(take(source, slot));
  EXPECT_EQ(log.warnings, "");
  source.restore({}, {.name = "the file"});
  EXPECT_FALSE(take(source, slot));
  EXPECT_THAT(log.warnings,
              HasSubstr("the file has no `w/momentum`; it begins with its first value"));
}

TEST(ValueSources, GiveTowersTheirOwnValuesIfThereAreAsMany) {
  NamedArrays saved{{"n", number(9)}, {"n/tower_0", number(1)}, {"n/tower_1", number(2)}};
  VariableOptions each = named("n");
  each.over_towers = OverTowers::per_tower;
  ValueSource two({}, 2);
  two.restore(saved, {});
  auto found = take(two, each);
  EXPECT_EQ(found->common.item(), 9);
  ASSERT_EQ(found->of_towers.size(), 2u);
  EXPECT_EQ(found->of_towers[0].item(), 1);
  EXPECT_EQ(found->of_towers[1].item(), 2);
  EXPECT_TRUE(two.waiting().empty());

  ValueSource three({}, 3);
  EXPECT_THAT(error_of([&] { three.check(saved, each, {.name = "the file"}); }),
              HasSubstr("the file has the values of 2 towers for variable `n`, which differs from "
                        "tower to tower; there are 3 now"));
  each.over_towers = OverTowers::sum;  // may be cut anew
  three.restore(saved, {});
  EXPECT_TRUE(take(three, each)->of_towers.empty());
}

TEST(ValueSources, WarmUpOnceAModeUntilOneTrains) {
  TemporaryFolder dir;
  std::string path = dir / "w.safetensors";
  save_safetensors(path, {{"w", number(7)}});
  std::vector<VariableOptions> model{named("w")};
  ValueSource source(WarmStart{.from = path}, 1);
  EXPECT_TRUE(source.warm_starts());
  EXPECT_THAT(source.warm_up(model, 1, Mode::predict), HasSubstr("w"));
  EXPECT_EQ(source.warm_up(model, 1, Mode::predict), "");
  EXPECT_EQ(take(source, named("w"))->common.item(), 7);
  EXPECT_FALSE(take(source, named("w")));
  EXPECT_TRUE(source.warm_starts());
  EXPECT_NE(source.warm_up(model, 1, Mode::train), "");
  EXPECT_FALSE(source.warm_starts());
  EXPECT_EQ(take(source, named("w"))->common.item(), 7);
}

TEST(ValueSources, ForgetAWarmStartOnceThereIsACheckpoint) {
  TemporaryFolder dir;
  std::string path = dir / "w.safetensors";
  save_safetensors(path, {{"w", number(7)}, {"b", number(8)}});
  std::vector<VariableOptions> model{named("w"), named("b")};
  ValueSource source(WarmStart{.from = path}, 1);
  source.warm_up(model, 1, Mode::predict);
  source.restore({{"w", number(1)}}, {});
  EXPECT_FALSE(source.warm_starts());
  EXPECT_EQ(take(source, named("w"))->common.item(), 1);
  EXPECT_FALSE(take(source, named("b")));
}

}  // namespace
}  // namespace belfry
