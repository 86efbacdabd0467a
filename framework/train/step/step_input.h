#pragma once
// The input of the steps of one train() call. Internal to train/.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/tensor/features.h"

namespace belfry {

/// Batches from a stream, in sets: one batch, or one a tower. Used by one thread at a time.
class StepInput {
 public:
  /// Opens the stream. Error: there is no input_fn, or it gives none.
  StepInput(InputFn input_fn, InputContext context, int batches_a_set);

  /// Goes on from a position that position() gave.
  void restore(const std::string& position);
  /// Reads the first set that the first step takes and holds it: a position is that of before it.
  /// False when there is nothing; `need_any`: then looks for what any() gives.
  bool read_first(bool need_any = false);
  /// The same from the beginning of the data.
  bool begin_anew(bool need_any = false);
  /// Reads the `sets` that the next step takes; the first may be held already. False when the data
  /// end before the last of them has begun: what was read of the others is lost; and when
  /// stopped(). `may_put_back`: put_back() may follow.
  bool read(int sets = 1, bool may_put_back = false);
  /// The step does not take what was read last: a position is that of before it.
  void put_back() { put_back_ = true; }
  /// InputContext::stop came before all was read, which was then put back.
  bool stopped() const { return stopped_; }
  /// The batches of a set that was read last; fewer at the end of the data, but not none.
  std::span<const Features> batches(int set = 0) const {
    const Set& read = sets_[set];
    return {read.batches.data(), read.count};
  }
  /// The digest of all batches that were read last: see digest() in worker_sync.h. 0: none was
  /// read.
  std::uint64_t digest() const;
  /// The rows of the first of these batches; 0: there is none.
  std::int64_t batch_rows() const;
  /// Any batch of the data: the last that was read, or else the first of all workers' parts. Null:
  /// there is none.
  const Features* any();
  /// Where a later training goes on; empty: at the beginning, or the stream cannot say.
  std::string position() const;
  bool was_read() const { return was_read_; }
  bool restored() const { return restored_; }
  /// Whether the stream could say where it stood before the first batch.
  bool can_save() const { return !position_before_.empty(); }
  std::vector<InputStage> stages() const { return stream_->stages(); }

 private:
  struct Set {
    std::vector<Features> batches;
    std::size_t count = 0;
  };
  bool fetch(int set);
  bool fetch_all(int sets);
  bool settle(std::size_t sets, bool all_read, bool may_put_back);

  InputFn input_fn_;
  InputContext context_;
  InputStreamPtr stream_;
  std::size_t batches_a_set_;
  std::vector<Set> sets_;
  Features spare_;               // for the next batch
  std::string position_before_;  // of the first batches
  std::size_t sets_read_ = 0;    // last
  bool held_ = false, put_back_ = false, was_read_ = false, restored_ = false, stopped_ = false;
};

/// The stream of an input_fn. Error, beginning with `caller`: there is no input_fn, or it gives
/// none.
inline InputStreamPtr open_input(const InputFn& input_fn, std::string_view caller,
                                 const InputContext& context = {}) {
  require(input_fn, caller, ": there is no input_fn");
  InputStreamPtr input = input_fn(context);
  require(input, caller, ": input_fn returned no stream");
  return input;
}

}  // namespace belfry
