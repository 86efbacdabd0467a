#include "belfry/framework/train/step/worker_sync.h"

#include <barrier>
#include <cstring>
#include <thread>

#include "../training_testing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A job whose workers are threads.
struct Job {
  explicit Job(int count) : given(static_cast<std::size_t>(count)), all_here(count) {}
  std::vector<std::vector<std::byte>> given;
  std::barrier<> all_here;
};

class ThreadWorker final : public Workers {
 public:
  ThreadWorker(Job& job, int rank) : job_(job), rank_(rank) {}
  int count() const override { return static_cast<int>(job_.given.size()); }
  int rank() const override { return rank_; }
  std::string describe() const override { return concat("thread ", rank_); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    auto everything = exchange(mine);
    for (std::size_t r = 0; r < everything.size(); ++r)
      std::memcpy(all.data() + r * mine.size(), everything[r].data(), mine.size());
  }
  void broadcast(std::vector<std::byte>& bytes) override { bytes = exchange(bytes)[0]; }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine) override {
    auto everything = exchange(mine);
    if (rank_ > 0) everything.clear();
    return everything;
  }
  std::shared_ptr<Communicator> communicator(const CommunicatorOptions&) override { return {}; }
  void announce_failure(const std::string&) noexcept override {}

 private:
  std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) {
    job_.given[static_cast<std::size_t>(rank_)].assign(mine.begin(), mine.end());
    job_.all_here.arrive_and_wait();
    auto everything = job_.given;
    job_.all_here.arrive_and_wait();
    return everything;
  }
  Job& job_;
  int rank_;
};

// f(sync, rank) on each worker; what each returns, or its error.
template <class F>
auto on_workers(int count, F f) {
  using Result = decltype(f(std::declval<WorkerSync&>(), 0));
  std::vector<Result> results(static_cast<std::size_t>(count));
  Job job(count);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      ThreadWorker worker(job, rank);
      WorkerSync sync(worker);
      results[static_cast<std::size_t>(rank)] = f(sync, rank);
    });
  threads.clear();
  return results;
}

TEST(WorkerSync, WorkersBeginAlike) {
  Strategy one = make_strategy({"cpu:0"}), split = make_strategy({"cpu:0+cpu:1"});
  auto errors = [&](std::int64_t step_of_last, std::uint64_t seed_of_last, const Strategy& last) {
    return on_workers(3, [&](WorkerSync& sync, int rank) {
      return error_of([&] {
        if (rank == 2)
          sync.check_start(step_of_last, seed_of_last, last);
        else
          sync.check_start(5, 1, one);
      });
    });
  };
  EXPECT_THAT(errors(5, 1, one), Each("no error"));
  EXPECT_THAT(errors(4, 1, one),
              Each(AllOf(HasSubstr("worker 0 begins at step 5 and worker 2 at step 4"),
                         HasSubstr("one folder that all workers share"))));
  EXPECT_THAT(errors(5, 9, one), Each(HasSubstr("worker 0 has seed 1 and worker 2 has seed 9")));
  EXPECT_THAT(
      errors(5, 1, split),
      Each(HasSubstr("worker 0 has towers x devices = 1 x 1 and batches global, worker 2 has "
                     "towers x devices = 1 x 2 and batches global")));
}

TEST(WorkerSync, OneWishIsEverybodys) {
  auto agreed = on_workers(3, [](WorkerSync& sync, int rank) {
    WorkerSync::Agreed first = sync.agree({.stop = rank > 0});
    WorkerSync::Agreed second = sync.agree({.save = rank == 2});
    return std::vector<int>{first.stopping,
                            first.save,
                            second.stopping,
                            second.save,
                            sync.any_of_all(rank == 1),
                            sync.any_of_all(false),
                            sync.chief_decides(rank == 0),
                            sync.chief_decides(rank == 1)};
  });
  EXPECT_THAT(agreed, Each(ElementsAre(1, 0, -1, 1, 1, 0, 1, 0)));
}

TEST(WorkerSync, AllWaitUnlessOneWantsToStop) {
  auto agreed = on_workers(2, [](WorkerSync& sync, int rank) {
    bool waits = sync.agree({.pause = rank == 1}).pause;
    return std::vector<bool>{waits, sync.agree({.stop = rank == 0, .pause = rank == 1}).pause,
                             sync.agree({}).pause};
  });
  EXPECT_THAT(agreed, Each(ElementsAre(true, false, false)));
}

TEST(WorkerSync, TheClockIsTheChiefs) {
  auto clocks = on_workers(2, [](WorkerSync& sync, int) {
    sync.agree({});
    return sync.clock();
  });
  EXPECT_GT(clocks[0], 0);
  EXPECT_EQ(clocks[0], clocks[1]);
}

TEST(WorkerSync, RowsAreThoseOfAll) {
  auto exchanged = [](const std::vector<StepRows>& own) {
    return on_workers(3, [&](WorkerSync& sync, int rank) {
      StepRows all = sync.exchange_rows(own[static_cast<std::size_t>(rank)], {0});
      return std::vector<std::int64_t>{all.before, all.all, all.most_of_tower, all.least_of_tower,
                                       all.even};
    });
  };
  EXPECT_THAT(exchanged({{0, 6, 4, 2, false}, {}, {0, 9, 5, 4, false}}),
              ElementsAre(ElementsAre(0, 15, 5, 2, 0), ElementsAre(6, 15, 5, 2, 0),
                          ElementsAre(6, 15, 5, 2, 0)));
  EXPECT_THAT(exchanged(std::vector<StepRows>(3, {0, 8, 4, 4, true})),
              ElementsAre(ElementsAre(0, 24, 4, 4, 1), ElementsAre(8, 24, 4, 4, 1),
                          ElementsAre(16, 24, 4, 4, 1)));
}

TEST(WorkerSync, LayoutsAreThoseOfAllOrNone) {
  auto layouts = [](std::uint64_t of_last) {
    return on_workers(3, [&](WorkerSync& sync, int rank) {
      return sync.exchange_rows({.all = 1, .layout = rank == 2 ? of_last : 5}, {0}).layout;
    });
  };
  EXPECT_THAT(layouts(5), Each(5));
  EXPECT_THAT(layouts(7), Each(0));
  EXPECT_THAT(layouts(0), Each(0));
}

TEST(WorkerSync, WorkersRunTheSameUpdates) {
  auto errors = on_workers(2, [](WorkerSync& sync, int rank) {
    return error_of([&] { sync.exchange_rows({}, {static_cast<std::size_t>(rank)}); });
  });
  EXPECT_THAT(errors, Each(HasSubstr("worker 0 runs other updates in this step than worker 1")));
}

TEST(WorkerSync, AStopKeepsAllFromTheirBatch) {
  auto agreed = on_workers(3, [](WorkerSync& sync, int rank) {
    WorkerSync::Agreed heard =
        sync.agree_on_batch({.stop = rank == 1, .interrupted = rank == 1}, rank == 1 ? 0 : 7, true);
    WorkerSync::Agreed hook = sync.agree_on_batch({.stop = true}, 7, true);
    return std::vector<int>{
        heard.stopping,
        heard.interrupted,
        hook.stopping,
        hook.interrupted,
        sync.agree_on_batch({}, 7, true).stopping,
        sync.agree_on_batch({}, static_cast<std::uint64_t>(rank), false).stopping};
  });
  EXPECT_THAT(agreed, Each(ElementsAre(1, 1, 0, 0, -1, -1)));
}

TEST(WorkerSync, OneBatchIsTheSameForAll) {
  auto errors = [](std::uint64_t of_last) {
    return on_workers(3, [&](WorkerSync& sync, int rank) {
      return error_of([&] { sync.agree_on_batch({}, rank == 2 ? of_last : 7, true); });
    });
  };
  EXPECT_THAT(errors(7), Each("no error"));
  EXPECT_THAT(errors(8), Each(HasSubstr("worker 2 has read another batch than worker 0")));
  EXPECT_THAT(errors(0),
              Each(HasSubstr("worker 2 has come to the end of other data than worker 0")));
}

TEST(WorkerSync, ModelsHaveTheSameVariables) {
  VariableOptions a{.name = "a", .type = {{2}, DType::f32}},
      b{.name = "b", .type = {{}, DType::f32}};
  VariableOptions wide = b;
  wide.type = {{3}, DType::f32};
  auto errors = [&](const std::vector<VariableOptions>& of_last) {
    return on_workers(2, [&](WorkerSync& sync, int rank) {
      return error_of([&] { sync.check_variables(rank == 1 ? of_last : std::vector{a, b}); });
    });
  };
  EXPECT_THAT(errors({a, b}), Each("no error"));
  std::string text =
                  "train: variable 1 of worker 1's model is not that of worker 0's; here, on "
                  "worker ",
              b_here = "`b` (f32[], parameter, mirrored)",
              remedy = "; a model_fn must make the same variables in every worker";
  EXPECT_THAT(errors({a, wide}),
              ElementsAre(text + "0, it is " + b_here + remedy,
                          text + "1, it is `b` (f32[3], parameter, mirrored)" + remedy));
  VariableOptions statistic = b, summed = b;
  statistic.kind = VariableKind::statistic;
  summed.over_towers = OverTowers::sum;
  EXPECT_THAT(errors({a, statistic})[1], HasSubstr("it is `b` (f32[], statistic, mirrored)"));
  EXPECT_THAT(errors({a, summed})[1], HasSubstr("it is `b` (f32[], parameter, sum)"));
  EXPECT_THAT(errors({a}),
              ElementsAre(text + "0, it is " + b_here + remedy, text + "1, it is none" + remedy));
  EXPECT_THAT(errors({b, a})[1], HasSubstr("variable 0 of worker 1's"));
  EXPECT_THAT(errors({a, b, wide})[0], HasSubstr("variable 2 of worker 1's"));
}

// A graph of one node with 100 values, and of their sum times `factor`.
void build(Graph& graph, double factor, float last = 0) {
  Array values(Shape{100}, DType::f32);
  for (float& value : values.span<float>()) value = 0;
  values.span<float>()[99] = last;
  sum(constant(graph, values)) * factor;
}

TEST(WorkerSync, GraphsOfEqualBatchesAreTheSame) {
  struct Worker {
    std::int64_t rows = 4;
    double factor = 2;
    float last = 0;
  };
  auto errors = [&](const Worker& one, const Worker& two) {
    return on_workers(3, [&](WorkerSync& sync, int rank) {
      const Worker own = rank == 0 ? Worker{} : rank == 1 ? one : two;
      Graph graph;
      build(graph, own.factor, own.last);
      Signature batch{{"x", {{own.rows, 3}, DType::f32}}};
      return error_of([&] { sync.check_graph(batch, graph); });
    });
  };
  EXPECT_THAT(errors({}, {}), Each("no error"));
  EXPECT_THAT(
      errors({}, {.factor = 2.5}),
      Each(AllOf(HasSubstr("train: worker 2 has built another graph than worker 0 from "
                           "batches of the same shapes; the first node that differs is %2"),
                 HasSubstr("2.5"),
                 HasSubstr("; all workers must run the same program with the same options"))));
  // The text of an array shows its first eight values.
  EXPECT_THAT(errors({.last = 1}, {}), Each(HasSubstr("differs is value of %0 with the digest")));
  // A batch of fewer rows may give another graph.
  EXPECT_THAT(errors({.rows = 3, .factor = 3}, {}), Each("no error"));
  EXPECT_THAT(errors({.rows = 3, .factor = 3}, {.rows = 3}),
              Each(HasSubstr("worker 2 has built another graph than worker 1")));
}

// Positions are any bytes, also such as look like those of several.
TEST(WorkerSync, EachWorkerFindsItsPosition) {
  const std::string positions[] = {"a\nb", "", std::string("positions of workers 2\n\0x", 25)};
  std::string saved = on_workers(3, [&](WorkerSync& sync, int rank) {
    std::string input = positions[rank];
    sync.gather_positions(input);
    return input;
  })[0];
  auto found =
      on_workers(3, [&](WorkerSync& sync, int) { return sync.own_position(saved, false); });
  EXPECT_THAT(found, ElementsAre(positions[0], positions[1], positions[2]));
  auto of_two = on_workers(
      2, [&](WorkerSync& sync, int) { return error_of([&] { sync.own_position(saved, false); }); });
  EXPECT_THAT(of_two, Each(HasSubstr("has the input positions of 3 workers but there are 2 now")));
  auto cut = on_workers(3, [&](WorkerSync& sync, int) {
    return error_of([&] { sync.own_position(saved.substr(0, 30), false); });
  });
  EXPECT_THAT(cut[2], HasSubstr("damaged"));
}

TEST(WorkerSync, APositionOfOneIsEverybodysWhereAllReadTheSame) {
  auto shared = on_workers(2, [](WorkerSync& sync, int) { return sync.own_position("7", true); });
  EXPECT_THAT(shared, Each("7"));
  auto own = on_workers(
      2, [](WorkerSync& sync, int) { return error_of([&] { sync.own_position("7", false); }); });
  EXPECT_THAT(own, Each(HasSubstr("has the input positions of 1 worker but there are 2 now")));
}

}  // namespace
}  // namespace belfry
