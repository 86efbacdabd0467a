#include <gmock/gmock.h>

#include <limits>

#include "belfry/framework/graph/op_def.h"
#include "belfry/framework/tensor/shape.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

using ::testing::ThrowsMessage;

enum class Mode : std::uint8_t { off, on };
std::string to_string(Mode mode) { return mode == Mode::on ? "on" : "off"; }

struct AllKinds {
  bool flag = true;
  int count = 3;
  float rate = 0.25f;
  std::string name = "mean";
  Shape shape = {2, 3};
  std::vector<double> values = {1, 0.5};
  Mode mode = Mode::on;
  DType dtype = DType::bf16;
  Array array = Array::of({7.0f});
  static void fields(auto& o, auto&& field) {
    field("flag", o.flag);
    field("count", o.count);
    field("rate", o.rate);
    field("name", o.name);
    field("shape", o.shape);
    field("values", o.values);
    field("mode", o.mode);
    field("dtype", o.dtype);
    field("array", o.array);
  }
};

struct One {
  double x = 0;
  static void fields(auto& o, auto&& field) { field("x", o.x); }
};
struct Other {
  double x = 0;
  static void fields(auto& o, auto&& field) { field("x", o.x); }
};
struct Numbers {
  std::vector<double> x = {};
  static void fields(auto& o, auto&& field) { field("x", o.x); }
};
struct Held {
  Array x = {};
  static void fields(auto& o, auto&& field) { field("x", o.x); }
};

void expect_equal(const Options& a, const Options& b) {
  EXPECT_TRUE(a == b) << to_string(a) << " and " << to_string(b);
  EXPECT_EQ(a.hash(), b.hash());
}

TEST(Options, PrintsEachKindOfField) {
  EXPECT_EQ(to_string(Options(AllKinds{})),
            "flag=true, count=3, rate=0.25, name=mean, shape=[2, 3], values=[1, 0.5], mode=on, "
            "dtype=bf16, array=f32[1] {7}");
}

TEST(Options, NoneAreEmpty) {
  EXPECT_EQ(to_string(Options()), "");
  EXPECT_TRUE(Options().attributes().empty());
  expect_equal(Options(), Options());
}

TEST(Options, AttributesAreStoredInTheWidestTypeOfTheirKind) {
  Options options(AllKinds{});
  auto attributes = options.attributes();
  ASSERT_EQ(attributes.size(), 9u);
  EXPECT_EQ(attributes[1].name, "count");
  EXPECT_EQ(std::get<std::int64_t>(attributes[1].value), 3);
  EXPECT_EQ(std::get<double>(attributes[2].value), 0.25);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(attributes[4].value),
            (std::vector<std::int64_t>{2, 3}));
}

TEST(Options, EqualFieldsMakeEqualOptionsAndHashes) {
  expect_equal(Options(AllKinds{}), Options(AllKinds{}));
  expect_equal(Options(One{2}), Options(One{2}));
}

TEST(Options, AnyFieldTellsApart) {
  const Options base(AllKinds{});
  auto changed = [](auto change) {
    AllKinds o;
    change(o);
    return Options(o);
  };
  EXPECT_FALSE(base == changed([](AllKinds& o) { o.flag = false; }));
  EXPECT_FALSE(base == changed([](AllKinds& o) { o.count = 4; }));
  EXPECT_FALSE(base == changed([](AllKinds& o) { o.rate = 0.5f; }));
  EXPECT_FALSE(base == changed([](AllKinds& o) { o.name = "sum"; }));
  EXPECT_FALSE(base == changed([](AllKinds& o) { o.shape = {3, 2}; }));
  EXPECT_FALSE(base == changed([](AllKinds& o) { o.values = {1}; }));
  EXPECT_FALSE(base == changed([](AllKinds& o) { o.mode = Mode::off; }));
  EXPECT_FALSE(base == changed([](AllKinds& o) { o.dtype = DType::f16; }));
  EXPECT_FALSE(base == changed([](AllKinds& o) { o.array = Array::of({8.0f}); }));
}

TEST(Options, TypesWithTheSameFieldsDiffer) { EXPECT_FALSE(Options(One{2}) == Options(Other{2})); }

TEST(Options, NumbersAreComparedBitForBit) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  expect_equal(Options(One{nan}), Options(One{nan}));
  EXPECT_FALSE(Options(One{0.0}) == Options(One{-0.0}));
  expect_equal(Options(Numbers{{1, nan}}), Options(Numbers{{1, nan}}));
  EXPECT_FALSE(Options(Numbers{{0.0}}) == Options(Numbers{{-0.0}}));
}

TEST(Options, ArraysAreComparedByTypeAndContent) {
  expect_equal(Options(Held{Array::of({1.0f, 2.0f})}), Options(Held{Array::of({1.0f, 2.0f})}));
  EXPECT_FALSE(Options(Held{Array::of({1.0f})}) == Options(Held{Array::of({1.0})}));
  EXPECT_FALSE(Options(Held{Array::of({1.0f, 2.0f}, {1, 2})})
               == Options(Held{Array::of({1.0f, 2.0f}, {2, 1})}));
  EXPECT_FALSE(Options(Held{}) == Options(Held{Array::of({1.0f})}));
  expect_equal(Options(Held{}), Options(Held{}));
}

TEST(Options, ReadingThemAsAnotherTypeIsOurFault) {
  Options options(One{2});
  EXPECT_EQ(options.as<One>().x, 2);
  EXPECT_THAT([&] { options.as<Other>(); },
              ThrowsMessage<Error>(HasSubstr("internal error in Belfry")));
  EXPECT_THAT([] { Options().as<One>(); },
              ThrowsMessage<Error>(HasSubstr("options are of another type than the op expects")));
}

TEST(Options, CopiesShareAndDoNotFollowTheOriginal) {
  One one{1};
  Options options(one);
  one.x = 5;
  EXPECT_EQ(options.as<One>().x, 1);
}

}  // namespace
}  // namespace belfry
