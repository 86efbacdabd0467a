#include "belfry/framework/distribute/worker_role.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

std::string words(const std::string& json) {
  WorkerRole r = worker_role_from_json(json);
  return concat(r.index, " of ", r.workers, r.is_chief ? " chief" : "",
                r.is_evaluator ? " evaluator" : "", r.model_dir.empty() ? "" : " in ", r.model_dir);
}

std::string error_of(const std::string& json) {
  try {
    return words(json);
  } catch (const Error& error) {
    return error.what();
  }
}

std::string config(const std::string& cluster, const std::string& task) {
  return concat("{\"cluster\": {", cluster, "}, \"task\": {", task, "}}");
}

const std::string three = R"("worker": ["b:1", "c:1"], "chief": ["a:1"])";

std::string task(const std::string& type, int index) {
  return concat("\"type\": \"", type, "\", \"index\": ", index);
}

TEST(WorkerRole, CountsTheChiefFirst) {
  EXPECT_EQ(words(config(three, task("chief", 0))), "0 of 3 chief");
  EXPECT_EQ(words(config(three, task("worker", 0))), "1 of 3");
  EXPECT_EQ(words(config(three, task("worker", 1))), "2 of 3");
  EXPECT_EQ(words(config(R"("chief": ["a:1"])", task("chief", 0))), "0 of 1 chief");
  EXPECT_EQ(words(config(R"("master": ["a:1"], "worker": ["b:1"])", task("master", 0))),
            "0 of 2 chief");
  EXPECT_EQ(words(config(R"("chief": ["a:1"], "worker": {"0": "b:1"})", task("worker", 0))),
            "1 of 2");
}

TEST(WorkerRole, AnEvaluatorStandsOutside) {
  EXPECT_EQ(words(config(three, task("evaluator", 0))), "0 of 0 evaluator");
  EXPECT_THAT(error_of(config(three + R"(, "evaluator": ["d:1"])", task("evaluator", 0))),
              HasSubstr("an evaluator stands outside the cluster"));
}

TEST(WorkerRole, WithoutAClusterItIsAlone) {
  EXPECT_EQ(words("{}"), "0 of 1 chief");
  EXPECT_EQ(words(R"({"task": {"type": "worker", "index": 0}, "environment": "cloud"})"),
            "0 of 1 chief");
  EXPECT_EQ(words(R"({"model_dir": "runs/a"})"), "0 of 1 chief in runs/a");
  EXPECT_EQ(error_of(config("", task("chief", 0))),
            "TF_CONFIG: without a `cluster` the task can only be worker 0, got chief 0");
  EXPECT_EQ(error_of(config("", task("worker", 1))),
            "TF_CONFIG: without a `cluster` the task can only be worker 0, got worker 1");
}

TEST(WorkerRole, AClusterHasOneChiefAndKnownTasks) {
  EXPECT_EQ(error_of(config(R"("worker": ["b:1"])", task("worker", 0))),
            "TF_CONFIG: the cluster has 0 chiefs; it needs exactly one");
  EXPECT_EQ(error_of(config(R"("chief": ["a:1", "b:1"])", task("chief", 0))),
            "TF_CONFIG: the cluster has 2 chiefs; it needs exactly one");
  EXPECT_EQ(error_of(config(R"("chief": ["a:1"], "master": ["b:1"])", task("chief", 0))),
            "TF_CONFIG: the cluster has both a `chief` and a `master`, its old name; keep one");
  EXPECT_THAT(error_of(config(R"("chief": ["a:1"], "ps": ["b:1"])", task("chief", 0))),
              HasSubstr("the cluster has parameter servers (`ps`), Belfry has none"));
  EXPECT_EQ(error_of(config(R"("chief": ["a:1"], "boss": ["b:1"])", task("chief", 0))),
            "TF_CONFIG: the cluster names `boss`; known are chief and worker");
  EXPECT_EQ(error_of(config(R"("chief": "a:1")", task("chief", 0))),
            "TF_CONFIG: `cluster.chief` must be a list, got \"a:1\"");
}

TEST(WorkerRole, TheTaskIsInTheCluster) {
  EXPECT_EQ(
      error_of(config(three, "\"index\": 0")),
      "TF_CONFIG: `task` lacks `type`; with a `cluster`, each process says which of its tasks "
      "it is");
  EXPECT_THAT(error_of(config(three, "\"type\": \"chief\"")), HasSubstr("`task` lacks `index`"));
  EXPECT_EQ(error_of(config(three, task("worker", 2))),
            "TF_CONFIG: the task is worker 2, but the cluster has 2 of them, counted from 0");
  EXPECT_EQ(error_of(config(three, task("worker", -1))),
            "TF_CONFIG: `task.index` must be a whole number of at least 0, got -1");
  EXPECT_EQ(error_of(config(R"("chief": ["a:1"])", task("worker", 0))),
            "TF_CONFIG: the task is a `worker`, of which the cluster has none");
  EXPECT_EQ(error_of(config(three, task("ps", 0))),
            "TF_CONFIG: the task is a `ps`, of which the cluster has none");
}

TEST(WorkerRole, OtherTextsAreErrors) {
  EXPECT_THAT(error_of("chief"), HasSubstr("TF_CONFIG: not JSON: line 1, column 1: "));
  EXPECT_EQ(error_of("[1]"), "TF_CONFIG must be a JSON object, got [1]");
  EXPECT_EQ(error_of(R"({"cluster": 3})"), "TF_CONFIG: `cluster` must be an object, got 3");
  EXPECT_EQ(error_of(R"({"task": []})"), "TF_CONFIG: `task` must be an object, got []");
  EXPECT_EQ(error_of(R"({"task": {"type": 1}})"), "TF_CONFIG: `task.type` must be a string, got 1");
  EXPECT_EQ(error_of(R"({"task": {"index": "0"}})"),
            "TF_CONFIG: `task.index` must be a whole number, got \"0\"");
  EXPECT_EQ(error_of(R"({"task": {"index": 1e40}})"),
            "TF_CONFIG: `task.index` must be a whole number, got 1e+40");
  EXPECT_EQ(error_of(R"({"model_dir": ""})"),
            "TF_CONFIG: `model_dir` must be a folder's name, got \"\"");
  EXPECT_THAT(error_of(config(three, "\"type\": \"worker\", \"index\": 18446744073709551615")),
              HasSubstr("TF_CONFIG: "));
}

}  // namespace
}  // namespace belfry
