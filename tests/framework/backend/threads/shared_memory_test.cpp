// The communicator of CPU towers.

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <thread>

#include "../device_group.h"
#include "belfry/framework/tensor/array.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry {
namespace {

using testing::HasSubstr;

struct Group : DeviceGroup {
  explicit Group(int n, CommunicatorOptions options = {}) : DeviceGroup("cpu", n) {
    communicator = list[0]->make_communicator(list, options);
  }
};

Segment all_of(Array& a) { return {a.raw(), a.elements()}; }

// Numbers whose sum depends on the order.
Array drawn(std::int64_t count, std::uint64_t seed, DType dtype) {
  Array a(Shape{count}, DType::f64);
  PhiloxStream random(philox_key(seed, count));
  for (double& v : a.span<double>()) v = (random.uniform_double() - 0.5) * 100;
  return a.cast(dtype);
}

struct Case {
  CrossDevice kind;
  int members;
  DType dtype;
};
std::string name_of(const Case& c) { return concat(c.kind, "_", c.members, "_", c.dtype); }
void PrintTo(const Case& c, std::ostream* out) { *out << name_of(c); }

class Reduces : public testing::TestWithParam<Case> {};

// Two buckets of odd sizes, in flight together, several steps.
TEST_P(Reduces, InAFixedOrder) {
  auto [kind, n, dtype] = GetParam();
  Group group(n, {.kind = kind});
  std::vector<std::array<Array, 3>> data(static_cast<std::size_t>(n));
  for (int step = 0; step < 3; ++step) {
    std::array<Array, 3> wanted;
    for (std::size_t k = 0; k < 3; ++k) {
      std::int64_t count = k == 0 ? 5001 : k == 1 ? 3 : 1;
      for (int m = 0; m < n; ++m)
        data[static_cast<std::size_t>(m)][k] =
            drawn(count, static_cast<std::uint64_t>(100 * step + m), dtype);
      // f64 and i64 in the order of members; hierarchical: of pairs.
      Array total(Shape{count}, DType::f64);
      for (std::int64_t i = 0; i < count; ++i) {
        auto x = [&](int m) { return data[static_cast<std::size_t>(m)][k].at(i); };
        double sum = 0;
        if (kind == CrossDevice::hierarchical && n == 4) {
          sum = (x(0) + x(1)) + (x(2) + x(3));
        } else {
          for (int m = 0; m < n; ++m) sum += x(m);
        }
        total.span<double>()[static_cast<std::size_t>(i)] = sum;
      }
      wanted[k] = total.cast(dtype);
    }
    auto errors = group.each([&, dtype = dtype](int m) {
      auto& own = data[static_cast<std::size_t>(m)];
      auto a = group.communicator->all_reduce(
          m, {"a", {all_of(own[0]), all_of(own[1])}, dtype, ReduceOp::sum});
      auto b = group.communicator->all_reduce(m, {"b", {all_of(own[2])}, dtype, ReduceOp::sum});
      a->start(group.stream(m));
      b->start(group.stream(m));
      a->finish(group.stream(m));
      b->finish(group.stream(m));
    });
    for (const std::string& e : errors) EXPECT_EQ(e, "");
    for (int m = 0; m < n; ++m)
      for (std::size_t k = 0; k < 3; ++k)
        EXPECT_TRUE(identical(data[static_cast<std::size_t>(m)][k], wanted[k]))
            << "member " << m << " bucket part " << k << " step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Reduces,
                         testing::Values(Case{CrossDevice::shared, 2, DType::f64},
                                         Case{CrossDevice::shared, 3, DType::f64},
                                         Case{CrossDevice::shared, 4, DType::i64},
                                         Case{CrossDevice::to_one_device, 3, DType::f64},
                                         Case{CrossDevice::to_one_device, 4, DType::i64},
                                         Case{CrossDevice::hierarchical, 2, DType::f64},
                                         Case{CrossDevice::hierarchical, 4, DType::f64},
                                         Case{CrossDevice::hierarchical, 3, DType::i64}),
                         [](const auto& info) { return name_of(info.param); });

// 256 + 1 is no bf16, 256 + 1 + 1 is: the sum is rounded once.
TEST(SharedMemory, SixteenBitFloatsAreRoundedOnce) {
  for (CrossDevice kind : {CrossDevice::shared, CrossDevice::to_one_device}) {
    Group group(3, {.kind = kind});
    std::vector<Array> data;
    for (float x : {256.0f, 1.0f, 1.0f}) data.push_back(Array::of({x}).cast(DType::bf16));
    group.each([&](int m) {
      auto c = group.communicator->all_reduce(
          m, {"b", {all_of(data[static_cast<std::size_t>(m)])}, DType::bf16, ReduceOp::sum});
      c->start(group.stream(m));
      c->finish(group.stream(m));
    });
    for (const Array& a : data) EXPECT_EQ(a.at(0), 258);
  }
}

TEST(SharedMemory, ATimeOutMayBeAsLongAsOneLikes) {
  Group group(2, {.timeout_seconds = 1e300});
  std::array<double, 2> values{1, 2};
  auto errors = group.each([&](int m) {
    double& own = values[static_cast<std::size_t>(m)];
    auto c = group.communicator->all_reduce(m, {"b", {{&own, 1}}, DType::f64, ReduceOp::sum});
    if (m == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    c->start(group.stream(m));
    c->finish(group.stream(m));
  });
  EXPECT_THAT(errors, testing::Each(""));
  EXPECT_EQ(values[0], 3);
}

TEST(SharedMemory, MaximumKeepsNan) {
  Group group(2);
  std::vector<Array> data{Array::of({1.0f, 5.0f, 2.0f}), Array::of({3.0f, 4.0f, std::nanf("")})};
  group.each([&](int m) {
    auto c = group.communicator->all_reduce(
        m, {"b", {all_of(data[static_cast<std::size_t>(m)])}, DType::f32, ReduceOp::max});
    c->start(group.stream(m));
    c->finish(group.stream(m));
  });
  for (const Array& a : data) {
    EXPECT_EQ(a.at(0), 3);
    EXPECT_EQ(a.at(1), 5);
    EXPECT_TRUE(std::isnan(a.at(2)));
  }
}

TEST(SharedMemory, DifferentBucketsAreAnError) {
  Group group(2);
  std::vector<Array> data{Array::of({1.0f, 5.0f}), Array::of({3.0f})};
  std::vector<std::unique_ptr<Collective>> collectives(2);  // the other member may still look at it
  auto errors = group.each([&](int m) {
    auto& c = collectives[static_cast<std::size_t>(m)];
    c = group.communicator->all_reduce(m, {m == 0 ? "bucket 0 of sgd" : "bucket 1 of sgd",
                                           {all_of(data[static_cast<std::size_t>(m)])},
                                           DType::f32,
                                           ReduceOp::sum});
    c->start(group.stream(m));
    c->finish(group.stream(m));
  });
  EXPECT_THAT(errors[0], HasSubstr("cpu:0 reduces bucket 0 of sgd (2 x f32) while cpu:1 reduces "
                                   "bucket 1 of sgd (1 x f32); a model_fn must build the same "
                                   "model for every tower"));
  EXPECT_THAT(errors[1], HasSubstr("cpu:1 reduces bucket 1 of sgd (1 x f32) while cpu:0"));
}

TEST(SharedMemory, AMemberThatDoesNotComeIsNamed) {
  Group group(3, {.timeout_seconds = 0.05});
  std::vector<Array> data{Array::of({1.0f}), Array::of({3.0f}), Array::of({4.0f})};
  std::atomic<int> failed = 0;
  auto errors = group.each([&](int m) {
    if (m == 1) {
      while (failed < 2) std::this_thread::yield();
      return;
    }
    auto c = group.communicator->all_reduce(m, {"bucket 4 of adam",
                                                {all_of(data[static_cast<std::size_t>(m)])},
                                                DType::f32,
                                                ReduceOp::sum});
    try {
      c->start(group.stream(m));
      c->finish(group.stream(m));
    } catch (const Error&) {
      ++failed;
      throw;
    }
  });
  for (int m : {0, 2})
    EXPECT_EQ(errors[static_cast<std::size_t>(m)],
              "bucket 4 of adam: cpu:1 did not come to the reduction within 0.05 s");
}

TEST(SharedMemory, AbortEndsTheWait) {
  Group group(2);
  Array data = Array::of({1.0f});
  auto errors = group.each([&](int m) {
    if (m == 1) return group.communicator->abort("tower 1 failed: no more");
    auto c = group.communicator->all_reduce(0, {"b", {all_of(data)}, DType::f32, ReduceOp::sum});
    c->start(group.stream(m));
    c->finish(group.stream(m));
  });
  EXPECT_EQ(errors[0], "tower 1 failed: no more");
}

}  // namespace
}  // namespace belfry
