#include "belfry/framework/base/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "error_of.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

struct Inner {
  int depth = 3;
  std::string title = "inner";
  static void fields(auto& o, auto&& field) {
    field("depth", o.depth, at_least(1));
    field("title", o.title);
  }
};

struct Outer {
  Steps every = Steps(5);
  Inner inner = {};
  std::chrono::seconds wait = std::chrono::seconds(7);
  std::uint64_t seed = 0;
  static void fields(auto& o, auto&& field) {
    field("every", o.every, at_least(2));
    field("inner", o.inner);
    field("wait", o.wait, {1, 9});
    field("seed", o.seed);
  }
};

struct Unsigned {
  std::uint64_t seed = 1;
  std::uint32_t count = 1;
  static void fields(auto& o, auto&& field) {
    field("seed", o.seed, at_least(1));
    field("count", o.count, {1, 9});
  }
};

/// Whole numbers, as something that read_value() reads.
struct Number {
  std::uint64_t number;
  std::int64_t whole() const { return static_cast<std::int64_t>(number); }
  std::uint64_t natural() const { return number; }
  [[noreturn]] void refuse(std::string_view expected) const {
    fail("must be ", expected, ", got ", number);
  }
};

struct Plain {
  int first = 1;
  std::vector<double> second_of_all = {2};
  bool last = true;
  BELFRY_FIELDS(first, second_of_all, last)
};

struct Names {
  std::vector<std::string> all = {};
  Names& operator()(std::string_view name, auto&, Limits = {}) {
    all.emplace_back(name);
    return *this;
  }
};

TEST(Fields, HaveTheNamesOfTheMembers) {
  Plain plain;
  Names names;
  Plain::fields(plain, names);
  EXPECT_THAT(names.all, ElementsAre("first", "second_of_all", "last"));
}

TEST(Fields, AreTheMembersThemselves) {
  Plain plain;
  Plain::fields(plain, [](std::string_view name, auto& member) {
    if constexpr (std::same_as<decltype(member), int&>) {
      EXPECT_EQ(name, "first");
      member = 42;
    }
  });
  EXPECT_EQ(plain.first, 42);
  const Plain constant;
  int count = 0;
  Plain::fields(constant, [&](std::string_view, const auto&) { ++count; });
  EXPECT_EQ(count, 3);
  static_assert(OptionStruct<Plain> && OptionStruct<Outer> && !OptionStruct<Steps>);
}

TEST(CheckLimits, NamesTheFieldAndWhatIsAllowed) {
  auto error = [](auto change) {
    Outer outer;
    change(outer);
    return error_of([&] { check_limits(outer, "Outer: "); });
  };
  EXPECT_EQ(error([](Outer&) {}), "no error");
  EXPECT_EQ(error([](Outer& o) { o.every = Steps(1); }), "Outer: every must be at least 2, got 1");
  EXPECT_EQ(error([](Outer& o) { o.inner.depth = 0; }),
            "Outer: inner.depth must be at least 1, got 0");
  EXPECT_EQ(error([](Outer& o) { o.wait = std::chrono::seconds(10); }),
            "Outer: wait must be in 1..9, got 10");
  EXPECT_EQ(error([](Outer& o) { o.wait = std::chrono::seconds(9); }), "no error");
}

TEST(CheckLimits, KnowsUnsignedNumbers) {
  EXPECT_EQ(error_of([] { check_limits(Unsigned{}, ""); }), "no error");
  EXPECT_EQ(error_of([] { check_limits(Unsigned{.seed = 0}, ""); }),
            "seed must be at least 1, got 0");
  EXPECT_EQ(error_of([] { check_limits(Unsigned{.seed = ~std::uint64_t{0}}, ""); }), "no error");
  EXPECT_EQ(error_of([] { check_limits(Unsigned{.count = 10}, ""); }),
            "count must be in 1..9, got 10");
}

TEST(ReadValue, KeepsUnsignedNumbersWithinTheirLimits) {
  std::uint64_t value = 5;
  EXPECT_EQ(error_of([&] { read_value(Number{0}, value, at_least(1)); }),
            "must be at least 1, got 0");
  EXPECT_EQ(value, 5u);
  read_value(Number{~std::uint64_t{0}}, value, at_least(1));
  EXPECT_EQ(value, ~std::uint64_t{0});
  EXPECT_EQ(error_of([&] { read_value(Number{10}, value, {1, 9}); }), "must be in 1..9, got 10");
}

}  // namespace
}  // namespace belfry
