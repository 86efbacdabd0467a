#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belfry/framework/base/fields.h"
#include "error_of.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

enum class Fruit : std::uint8_t { apple, pear, sour_cherry };
constexpr auto names_of(Fruit) { return name_list("apple", "pear", "sour cherry"); }
using belfry::to_string;

TEST(EnumNames, GoBothWays) {
  EXPECT_EQ(to_string(Fruit::apple), "apple");
  EXPECT_EQ(concat(Fruit::sour_cherry, "!"), "sour cherry!");
  EXPECT_THAT(enum_names<Fruit>, ElementsAre("apple", "pear", "sour cherry"));
  Fruit fruit = Fruit::apple;
  EXPECT_TRUE(from_name("sour cherry", fruit));
  EXPECT_EQ(fruit, Fruit::sour_cherry);
  EXPECT_FALSE(from_name("plum", fruit));
  EXPECT_EQ(fruit, Fruit::sour_cherry);
}

TEST(EnumNames, EveryValueNeedsOne) {
  enum class Named { a, b };
  static_assert(detail::is_enumerator<Named::a>() && detail::is_enumerator<Named::b>());
  static_assert(!detail::is_enumerator<static_cast<Named>(2)>());
  static_assert(detail::is_enumerator<Fruit::sour_cherry>());
  static_assert(!detail::is_enumerator<static_cast<Fruit>(3)>());
}

TEST(EnumNames, ImpossibleValuesAreOurFault) {
  EXPECT_EQ(error_of([] { to_string(static_cast<Fruit>(3)); }),
            "internal error in Belfry, please report it: value 3 of an enumeration that has apple, "
            "pear, sour cherry");
  EXPECT_THAT(error_of([] { no_such_value(static_cast<Fruit>(200)); }),
              ::testing::StartsWith(
                  "internal error in Belfry, please report it: value 200 of an enumeration"));
}

}  // namespace
}  // namespace belfry
