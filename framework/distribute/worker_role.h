#pragma once
// The part that a process plays in a cluster, read from text in the form of TensorFlow's TF_CONFIG.

#include <string>
#include <string_view>

namespace belfry {

/// The role of this process, as TF_CONFIG says it. Addresses are not kept: MPI connects the
/// workers.
struct WorkerRole {
  int workers = 1;            ///< tasks that train, the chief among them; 0 for an evaluator
  int index = 0;              ///< among those: the chief is 0, worker i is i + 1
  bool is_chief = true;       ///< writes checkpoints
  bool is_evaluator = false;  ///< evaluates checkpoints beside the cluster
  std::string model_dir;      ///< empty when none is named
};

/// Reads {"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "worker",
/// "index": 1}}. A cluster has exactly one chief (or one `master`, its old name); the task's type
/// and index are then required, and point into the cluster, but for an evaluator, which stands
/// outside. Without a cluster the process is worker 0 of a job of one. Keys that are not known are
/// ignored. Error: anything else, parameter servers (`ps`) included.
WorkerRole worker_role_from_json(std::string_view text);

}  // namespace belfry
