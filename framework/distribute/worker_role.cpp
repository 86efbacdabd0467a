#include "belfry/framework/distribute/worker_role.h"

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/json.h"

namespace belfry {
namespace {

struct Task {
  std::string type;
  std::int64_t index = 0;
};

Task task_of(const JsonValue& config, bool in_cluster) {
  Task out{.type = "worker"};
  std::optional<JsonValue> task = config.member("task");
  if (task && !task->is_object()) task->refuse("an object");
  for (const char* key : {"type", "index"})
    require(!in_cluster || (task && task->member(key)), "TF_CONFIG: `task` lacks `", key,
            "`; with a `cluster`, each process says which of its tasks it is");
  if (!task) return out;
  if (auto type = task->member("type")) out.type = type->words();
  if (auto index = task->member("index")) {
    out.index = index->whole();
    if (out.index < 0) index->refuse("a whole number of at least 0");
  }
  return out;
}

// How many tasks of each type a cluster has.
struct Cluster {
  int chiefs = 0, masters = 0, workers = 0;
  int all() const { return chiefs + masters + workers; }
};

Cluster cluster_of(const JsonValue& json) {
  Cluster cluster;
  for (const auto& [type, addresses] : json.members()) {
    require(type != "ps",
            "TF_CONFIG: the cluster has parameter servers (`ps`), Belfry has none: "
            "workers reduce their gradients among themselves; take `ps` out");
    require(type != "evaluator",
            "TF_CONFIG: an evaluator stands outside the cluster; take "
            "`evaluator` out of it and keep it as the type of the task");
    int* count = type == "chief"    ? &cluster.chiefs
                 : type == "master" ? &cluster.masters
                 : type == "worker" ? &cluster.workers
                                    : nullptr;
    require(count, "TF_CONFIG: the cluster names `", type, "`; known are chief and worker");
    *count = static_cast<int>(addresses.is_object() ? addresses.keys().size()
                                                    : addresses.elements().size());
  }
  require(cluster.chiefs == 0 || cluster.masters == 0,
          "TF_CONFIG: the cluster has both a `chief` and a `master`, its old name; keep one");
  require(cluster.chiefs + cluster.masters == 1, "TF_CONFIG: the cluster has ",
          cluster.chiefs + cluster.masters, " chiefs; it needs exactly one");
  return cluster;
}

WorkerRole role_in(const Cluster& cluster, const Task& task) {
  if (task.type == "evaluator")
    return {.workers = 0, .is_chief = false, .is_evaluator = true, .model_dir = {}};
  bool chief = task.type == "chief" || task.type == "master";
  int tasks = task.type == "chief"    ? cluster.chiefs
              : task.type == "master" ? cluster.masters
              : task.type == "worker" ? cluster.workers
                                      : 0;
  require(tasks > 0, "TF_CONFIG: the task is a `", task.type, "`, of which the cluster has none");
  require(task.index < tasks, "TF_CONFIG: the task is ", task.type, " ", task.index,
          ", but the cluster has ", tasks, " of them, counted from 0");
  return {.workers = cluster.all(),
          .index = chief ? 0 : static_cast<int>(task.index) + 1,
          .is_chief = chief,
          .model_dir = {}};
}

}  // namespace

WorkerRole worker_role_from_json(std::string_view text) {
  JsonValue config = JsonValue::parse(text, "TF_CONFIG");
  if (!config.is_object()) config.refuse("a JSON object");
  std::optional<JsonValue> cluster = config.member("cluster");
  bool in_cluster = cluster && !cluster->keys().empty();
  Task task = task_of(config, in_cluster);
  require(in_cluster || (task.type == "worker" && task.index == 0),
          "TF_CONFIG: without a `cluster` the task can only be worker 0, got ", task.type, " ",
          task.index);
  WorkerRole role = in_cluster ? role_in(cluster_of(*cluster), task) : WorkerRole();
  if (auto dir = config.member("model_dir")) {
    if (!dir->is_text() || dir->words().empty()) dir->refuse("a folder's name");
    role.model_dir = dir->words();
  }
  return role;
}

}  // namespace belfry
