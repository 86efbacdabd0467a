#include "belfry/framework/distribute/worker_communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <thread>

#include "../../backend/device_group.h"

namespace belfry {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Shared memory of CPU towers.
std::shared_ptr<Communicator> threads_of(int count, double timeout_seconds) {
  DeviceGroup group("cpu", count);
  return group.list[0]->make_communicator(group.list, {.timeout_seconds = timeout_seconds});
}

// Workers that are threads of this process, as far as reductions go.
class ThreadWorker final : public Workers {
 public:
  ThreadWorker(std::shared_ptr<Communicator> group, int rank)
      : group_(std::move(group)), rank_(rank) {}
  int count() const override { return group_->size(); }
  int rank() const override { return rank_; }
  std::string describe() const override { return "thread"; }
  void all_gather(std::span<const std::byte>, std::span<std::byte>) override {}
  void broadcast(std::vector<std::byte>&) override {}
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte>) override { return {}; }
  std::shared_ptr<Communicator> communicator(const CommunicatorOptions&) override { return group_; }
  void announce_failure(const std::string&) noexcept override {}

 private:
  std::shared_ptr<Communicator> group_;
  int rank_;
};

// One member's reduction of `values`; its error, or nothing.
std::string reduce(Communicator& group, int member, std::span<double> values,
                   ReduceOp op = ReduceOp::sum) {
  auto stream = find_device("cpu")->make_stream();
  try {
    auto collective = group.all_reduce(
        member, {.name = "values",
                 .segments = {{values.data(), static_cast<std::int64_t>(values.size())}},
                 .dtype = DType::f64,
                 .op = op});
    collective->start(*stream);
    collective->finish(*stream);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(WorkerCommunicator, OneTowerAWorkerIsFlat) {
  auto across = threads_of(3, 60);
  std::array<std::array<double, 1>, 3> values{{{-1e16}, {1}, {1e16}}};  // (-1e16 + 1) + 1e16 = 0
  std::vector<std::thread> threads;
  for (int w = 0; w < 3; ++w)
    threads.emplace_back([&, w] {
      ThreadWorker worker(across, w);
      auto group = make_worker_communicator({}, worker, {});
      EXPECT_EQ(group->size(), 1);
      EXPECT_EQ(reduce(*group, 0, values[static_cast<std::size_t>(w)]), "");
    });
  for (std::thread& t : threads) t.join();
  EXPECT_THAT(values, Each(ElementsAre(0)));
}

// Two workers with two towers each; values by 2 * worker + tower.
std::array<std::array<double, 2>, 4> reduce_two_by_two(ReduceOp op) {
  std::array<std::array<double, 2>, 4> values{{{1, -0.0}, {20, 7}, {300, 5}, {4000, -9}}};
  auto across = threads_of(2, 60);
  std::vector<std::thread> threads;
  for (int w = 0; w < 2; ++w) {
    ThreadWorker worker(across, w);
    auto group = make_worker_communicator({threads_of(2, 120), threads_of(2, 120)}, worker, {});
    EXPECT_EQ(group->size(), 2);
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&values, group, op, w, t] {
        EXPECT_EQ(reduce(*group, t, values[static_cast<std::size_t>(2 * w + t)], op), "");
      });
  }
  for (std::thread& t : threads) t.join();
  return values;
}

TEST(WorkerCommunicator, JoinsTowersOfAllWorkers) {
  EXPECT_THAT(reduce_two_by_two(ReduceOp::sum), Each(ElementsAre(4321, 3)));
  EXPECT_THAT(reduce_two_by_two(ReduceOp::max), Each(ElementsAre(4000, 7)));
  auto first = reduce_two_by_two(ReduceOp::first);
  EXPECT_THAT(first, Each(ElementsAre(1, 0)));
  for (const auto& v : first) EXPECT_TRUE(std::signbit(v[1]));
}

// One tower starts its second reduction before it finishes the first, the other after it.
TEST(WorkerCommunicator, TowersFinishWhenTheyLike) {
  auto across = threads_of(2, 60);
  std::vector<std::thread> threads;
  std::array<std::array<double, 2>, 4> values{{{1, 1000}, {2, 2000}, {3, 3000}, {4, 4000}}};
  for (int w = 0; w < 2; ++w) {
    ThreadWorker worker(across, w);
    auto group = make_worker_communicator({threads_of(2, 120), threads_of(2, 120)}, worker, {});
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&values, group, w, t] {
        auto stream = find_device("cpu")->make_stream();
        auto& own = values[static_cast<std::size_t>(2 * w + t)];
        auto sum = [&](double& value) {
          return group->all_reduce(t, {"value", {{&value, 1}}, DType::f64});
        };
        auto first = sum(own[0]), second = sum(own[1]);
        first->start(*stream);
        if (t == 0) second->start(*stream);
        first->finish(*stream);
        if (t == 1) second->start(*stream);
        second->finish(*stream);
      });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_THAT(values, Each(ElementsAre(10, 10000)));
}

TEST(WorkerCommunicator, EveryTowerHearsWhyTheWorkersFailed) {
  auto across = threads_of(2, 60);
  ThreadWorker worker(across, 0);
  auto group = make_worker_communicator({threads_of(2, 120), threads_of(2, 120)}, worker, {});
  std::array<double, 1> one{1}, two{2};
  std::string other_error;
  std::thread other([&] { other_error = reduce(*group, 1, two); });
  across->abort("worker 1 of 2 cannot go on");
  EXPECT_EQ(reduce(*group, 0, one), "worker 1 of 2 cannot go on");
  other.join();
  EXPECT_EQ(other_error, "worker 1 of 2 cannot go on");
}

TEST(WorkerCommunicator, AbortReachesTowersAndWorkers) {
  auto across = threads_of(2, 60);
  ThreadWorker worker(across, 0), elsewhere(across, 1);
  auto group = make_worker_communicator({threads_of(2, 120), threads_of(2, 120)}, worker, {});
  auto far = make_worker_communicator({}, elsewhere, {});
  group->abort("out of memory");
  std::array<double, 1> one{1};
  EXPECT_EQ(reduce(*group, 1, one), "out of memory");
  EXPECT_EQ(reduce(*far, 0, one), "out of memory");
}

}  // namespace
}  // namespace belfry
