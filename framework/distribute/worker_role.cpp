#include "belfry/framework/distribute/worker_role.h"

#include <nlohmann/json.hpp>

#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

using Json = nlohmann::json;

// The object under `key`, or an empty one.
Json object_at(const Json& json, const char* key) {
  Json value = json.value(key, Json::object());
  require(value.is_object(), "TF_CONFIG: `", key, "` must be an object, got ", value.dump());
  return value;
}

struct Task {
  std::string type;
  std::int64_t index = 0;
};

Task task_of(const Json& config, bool in_cluster) {
  Json task = object_at(config, "task");
  for (const char* key : {"type", "index"})
    require(!in_cluster || task.contains(key), "TF_CONFIG: `task` lacks `", key,
            "`; with a `cluster`, each process says which of its tasks it is");
  Json type = task.value("type", Json("worker")), index = task.value("index", Json(0));
  require(type.is_string(), "TF_CONFIG: `type` of the task must be text, got ", type.dump());
  require(index.is_number_integer() && index >= 0,
          "TF_CONFIG: `index` of the task must be a whole number of at least 0, got ",
          index.dump());
  return {type.get<std::string>(), index.get<std::int64_t>()};
}

// How many tasks of each type a cluster has.
struct Cluster {
  int chiefs = 0, masters = 0, workers = 0;
  int all() const { return chiefs + masters + workers; }
};

Cluster cluster_of(const Json& json) {
  Cluster cluster;
  for (const auto& [type, addresses] : json.items()) {
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
    require(addresses.is_array() || addresses.is_object(), "TF_CONFIG: `", type,
            "` of the cluster must be a list of addresses, got ", addresses.dump());
    *count = addresses.size();
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
  Json config = Json::parse(text, nullptr, false);
  require(config.is_object(), "TF_CONFIG: not a JSON object: `", text.substr(0, 200), "`");
  Json cluster = object_at(config, "cluster");
  Task task = task_of(config, !cluster.empty());
  require(!cluster.empty() || (task.type == "worker" && task.index == 0),
          "TF_CONFIG: without a `cluster` the task can only be worker 0, got ", task.type, " ",
          task.index);
  WorkerRole role = cluster.empty() ? WorkerRole() : role_in(cluster_of(cluster), task);
  if (auto dir = config.find("model_dir"); dir != config.end()) {
    require(dir->is_string() && !dir->get<std::string>().empty(),
            "TF_CONFIG: `model_dir` must be a folder's name, got ", dir->dump());
    role.model_dir = dir->get<std::string>();
  }
  return role;
}

}  // namespace belfry
