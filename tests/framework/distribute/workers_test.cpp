#include "belfry/framework/distribute/workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>

#include "../base/error_of.h"
#include "belfry/framework/backend/backend.h"
#include "stub_workers.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Variables of launchers, and what MPI would say, for one test.
class FindWorkers : public ::testing::Test {
 protected:
  FindWorkers() { clear(); }
  ~FindWorkers() override {
    clear();
    WorkersRegistration none(nullptr);
  }
  void clear() {
    for (const char* name :
         {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "TF_CONFIG"})
      unsetenv(name);
  }
  void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
  void job(int count, int rank) {
    set("OMPI_COMM_WORLD_SIZE", text(count));
    WorkersRegistration stub([=](const std::optional<WorkerOptions>&) {
      return std::make_shared<StubWorkers>(count, rank);
    });
  }
  void task(const char* type, int index) {
    set("TF_CONFIG",
        concat(R"({"cluster": {"chief": ["a"], "worker": ["b", "c"]}, "task": {"type": ")", type,
               R"(", "index": )", index, "}}"));
  }
  std::string found() {
    std::string out;
    std::string error = error_of([&] {
      auto workers = find_workers();
      out = concat(workers->rank(), " of ", workers->count(), workers->is_chief() ? " chief" : "");
    });
    return out.empty() ? error : out;
  }
};

TEST_F(FindWorkers, AProcessThatWasStartedAloneIsTheOnlyWorker) {
  EXPECT_EQ(found(), "0 of 1 chief");
  set("OMPI_COMM_WORLD_SIZE", "1");
  EXPECT_EQ(found(), "0 of 1 chief");
  EXPECT_EQ(error_of([] { find_workers(WorkerOptions{.timeout_seconds = 0}); }),
            "workers: timeout_seconds must be above 0, got 0");
}

TEST_F(FindWorkers, AJobNeedsMpi) {
  set("OMPI_COMM_WORLD_SIZE", "3");
  EXPECT_THAT(found(), HasSubstr("started by MPI as one of 3, but this build of Belfry lacks MPI"));
  EXPECT_THAT(found(), HasSubstr("apt-get install libopenmpi-dev"));
  clear();
  set("PMI_SIZE", "2");
  EXPECT_THAT(found(), HasSubstr("one of 2, but"));
  clear();
  set("PMIX_RANK", "0");
  EXPECT_THAT(found(), HasSubstr("one of several, but"));
  set("SLURM_STEP_NUM_TASKS", "1");
  EXPECT_EQ(found(), "0 of 1 chief");
}

TEST_F(FindWorkers, MpiSaysWhoThisIs) {
  job(3, 1);
  EXPECT_EQ(found(), "1 of 3");
  clear();
  set("PMIX_RANK", "1");
  EXPECT_EQ(found(), "1 of 3");
}

TEST_F(FindWorkers, TfConfigAgreesWithTheJob) {
  job(3, 2);
  task("worker", 1);
  EXPECT_EQ(found(), "2 of 3");
  job(3, 0);
  task("chief", 0);
  EXPECT_EQ(found(), "0 of 3 chief");
  clear();
  task("evaluator", 0);
  EXPECT_EQ(found(), "0 of 1 chief");
}

TEST_F(FindWorkers, TfConfigDoesNotContradictTheJob) {
  job(3, 1);
  task("worker", 1);
  EXPECT_EQ(found(),
            "TF_CONFIG: this process is task 2 of the cluster (the chief is 0), but MPI "
            "made it worker 1; unset TF_CONFIG, or list the hosts in its order");
  job(2, 1);
  EXPECT_EQ(found(),
            "TF_CONFIG: the cluster has 3 tasks, but MPI started 2 processes; unset "
            "TF_CONFIG, or start as many");
  task("evaluator", 0);
  EXPECT_THAT(found(), HasSubstr("MPI started it as one of 2; start it without mpirun"));
  set("TF_CONFIG", "{}");
  EXPECT_THAT(found(), HasSubstr("the cluster has 1 tasks, but MPI started 2"));
}

TEST_F(FindWorkers, AClusterWithoutAJobIsNotTrainedSilentlyAlone) {
  task("chief", 0);
  EXPECT_EQ(found(),
            "TF_CONFIG: the cluster has 3 tasks, but this process was started alone; MPI "
            "starts and connects workers: `mpirun -np 3 <program>` (see "
            "framework/distribute/README.md), without TF_CONFIG");
  set("TF_CONFIG", "nonsense");
  EXPECT_THAT(found(), HasSubstr("TF_CONFIG: not JSON: line 1, column 2: "));
}

TEST(SoleWorker, HasOnlyItself) {
  auto workers = make_sole_worker();
  EXPECT_EQ(workers->describe(), "one worker");
  EXPECT_THAT(workers->all_gather(2.5), ElementsAre(2.5));
  std::vector<std::byte> bytes{std::byte{3}, std::byte{4}};
  workers->broadcast(bytes);
  EXPECT_THAT(bytes, ElementsAre(std::byte{3}, std::byte{4}));
  EXPECT_THAT(workers->gather(bytes), ElementsAre(bytes));
  workers->barrier();
  workers->announce_failure("nobody hears it");
}

struct NoMemoryForIt {};
std::string to_string(const NoMemoryForIt&) { throw std::bad_alloc(); }

TEST(Workers, AreToldOfAnExceptionAlsoWhereThereIsNoMemoryForItsText) {
  StubWorkers workers(2, 0);
  auto error = std::make_exception_ptr(Error("disk full"));
  workers.announce_exception(error, "in step ", 3, ": ");
  EXPECT_EQ(workers.announced(), "in step 3: disk full");
  workers.announce_exception(error, NoMemoryForIt());
  EXPECT_EQ(workers.announced(), "out of memory");
}

TEST(SoleWorker, ReducesToWhatItHas) {
  auto group = make_sole_worker()->communicator({});
  std::array<float, 2> values{1.5f, -0.0f};
  auto sum = group->all_reduce(0, {.name = "two", .segments = {{values.data(), 2}}});
  auto stream = find_device("cpu")->make_stream();
  sum->start(*stream);
  sum->finish(*stream);
  EXPECT_THAT(values, ElementsAre(1.5f, -0.0f));
  EXPECT_EQ(group->size(), 1);
  group->abort("enough");
  sum->start(*stream);
  EXPECT_EQ(error_of([&] { sum->finish(*stream); }), "enough");
  EXPECT_THAT(error_of([&] { group->all_reduce(1, {.name = "x", .segments = {}}); }),
              HasSubstr("there is no member 1"));
}

}  // namespace
}  // namespace belfry
