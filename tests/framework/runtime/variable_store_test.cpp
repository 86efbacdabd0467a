#include "belfry/framework/runtime/variable_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../base/error_of.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

VariableOptions options(const std::string& name, const Shape& shape = {2}) {
  return {.name = name, .type = {shape, DType::f32}, .initializer = normal()};
}

TEST(VariableStore, FirstValuesComeFromSeedAndName) {
  VariableStore a(find_device("cpu")), b(find_device("cpu"));
  for (const char* name : {"v", "w"}) a.get_or_create(options(name), 1);
  for (const char* name : {"w", "u", "v"}) b.get_or_create(options(name), 1);  // in another order
  EXPECT_TRUE(identical(a.read("w"), b.read("w")));
  EXPECT_FALSE(identical(a.read("v"), a.read("w")));
  b.get_or_create(options("x"), 1);
  a.get_or_create(options("x"), 2);
  EXPECT_FALSE(identical(a.read("x"), b.read("x")));
  EXPECT_THAT(b.names(), ElementsAre("u", "v", "w", "x"));
}

TEST(VariableStore, OneNameIsOnePlace) {
  VariableStore store(find_device("cpu"));
  void* place = store.get_or_create(options("w"), 1).data();
  store.write("w", Array::of({3.f, 4.f}));
  EXPECT_EQ(store.get_or_create(options("w"), 1).data(), place);
  EXPECT_EQ(store.read("w").at(1), 4);
  for (int i = 0; i < 100; ++i) store.get_or_create(options("more" + text(i)), 1);
  EXPECT_EQ(store.get_or_create(options("w"), 1).data(), place);
}

TEST(VariableStore, TypesMustAgree) {
  VariableStore store(find_device("cpu"));
  store.get_or_create(options("w"), 1);
  EXPECT_EQ(error_of([&] { store.get_or_create(options("w", {3}), 1); }),
            "variable `w` is f32[2] but the model asks for f32[3]; a variable has one type, in "
            "all modes and for all inputs");
  EXPECT_EQ(error_of([&] {
              store.write("w", Array::of({1.0, 2.0}));
            }),
            "variable `w` is f32[2] and cannot take f64[2]");
}

TEST(VariableStore, AMissingOneIsNamed) {
  VariableStore store(find_device("cpu"));
  EXPECT_EQ(error_of([&] { store.read("v"); }), "there is no variable `v`; the model has none yet");
  store.get_or_create(options("w"), 1);
  EXPECT_TRUE(store.contains("w"));
  EXPECT_FALSE(store.contains("v"));
  EXPECT_EQ(store.options("w").type.shape, (Shape{2}));
  EXPECT_EQ(error_of([&] { store.read("v"); }), "there is no variable `v`; the model has w");
}

TEST(VariableStore, AnInitializerThatFailsNamesTheVariable) {
  VariableStore store(find_device("cpu"));
  VariableOptions bad = options("deep/w");
  bad.initializer = orthogonal();  // needs rank 2
  EXPECT_THAT(error_of([&] { store.get_or_create(bad, 1); }), ::testing::EndsWith("(at deep/w)"));
  EXPECT_FALSE(store.contains("deep/w"));
}

}  // namespace
}  // namespace belfry
