#pragma once
// The agreements that the workers of a job make between steps. Internal to train/.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/backend/communicator.h"
#include "belfry/framework/distribute/workers.h"
#include "belfry/framework/graph/graph.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/optimizers/minimize.h"
#include "belfry/framework/tensor/features.h"
#include "belfry/framework/train/step/tower_shards.h"

namespace belfry {

/// Exchanges between the workers of a job; all make the same calls in the same order. Alone, what
/// this worker says holds, and nothing is sent.
class WorkerSync {
 public:
  explicit WorkerSync(Workers& workers) : workers_(workers) {}

  bool alone() const { return workers_.count() == 1; }
  bool is_chief() const { return workers_.is_chief(); }

  /// Error unless all workers begin with the same step and seed, and have as many towers, of as
  /// many devices, that take batches alike.
  void check_start(std::int64_t step, std::uint64_t seed, const Strategy& strategy);

  /// Error unless all workers' models have these variables, in this order.
  void check_variables(const std::vector<VariableOptions>& own);
  /// Error unless all workers whose batches have the same types and shapes have built the same
  /// graph from them: other ops or options would let the workers' variables drift apart unseen.
  void check_graph(const Signature& batch, const Graph& own);

  struct Wishes {
    bool stop = false, save = false, pause = false;
    bool interrupted = false;  ///< the stop is asked for from outside
  };
  struct Agreed {
    int stopping = -1;   ///< rank of the first worker that wants to stop
    bool save = false;   ///< whether any wants to save
    bool pause = false;  ///< whether any wants to wait, and none to stop
    bool interrupted = false;
  };
  /// Before each step.
  Agreed agree(Wishes own);
  /// After a batch was read, or not because of a stop. Error: if nobody stops, and `same_for_all`,
  /// unless all have read what worker 0 has, by StepInput::digest().
  Agreed agree_on_batch(Wishes own, std::uint64_t digest, bool same_for_all);
  /// The chief's decision.
  bool chief_decides(bool own);
  /// Whether any worker says so.
  bool any_of_all(bool own);
  /// The first number of a worker that is not 0, by rank; 0 if there is none.
  int first_of_all(int own);
  /// Seconds of the chief's clock: of now if alone, else at the last agree().
  double clock() const;

  /// For workers that read batches of their own: the rows of a step. Error unless all have chosen
  /// the same updates.
  StepRows exchange_rows(const StepRows& own, UpdateSet chosen);

  /// On the chief, `input` becomes the positions of all workers.
  void gather_positions(std::string& input);
  /// The own part of what gather_positions() made; a position of one worker is everybody's if
  /// `shared`. Error: it is of another number of workers.
  std::string own_position(const std::string& input, bool shared) const;

 private:
  [[noreturn]] void report_other_graph(std::size_t one, std::size_t other, std::string_view own);

  Workers& workers_;
  double clock_ = 0;
};

/// The digest of names, types, shapes and contents: all bytes of arrays up to 64 KiB, of larger
/// ones 1024 pieces of 64 bytes, evenly spread. It takes some 10 microseconds an array.
std::uint64_t digest(const Features& batch);
/// The digest of all bytes, the same in every program.
std::uint64_t digest(std::span<const std::byte> bytes);

}  // namespace belfry
