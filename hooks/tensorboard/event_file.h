#pragma once
// Event files, which TensorBoard shows: TFRecord files of Event messages that grow while they are
// read (https://github.com/tensorflow/tensorboard, compat/proto/event.proto).

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "belfry/framework/base/protobuf_wire.h"
#include "belfry/framework/graph/graph.h"

namespace belfry::hooks {

/// One value for TensorBoard: writes the fields of a Summary.Value. See summary_values.h, which
/// makes them. Called on the event file's thread.
using EventValue = std::function<void(protobuf::WireWriter&)>;

/// A change in the status of a training run (SessionLog.SessionStatus).
enum class SessionStatus : std::uint8_t { start = 1, stop = 2, checkpoint = 3 };

/// Options of an EventFile.
struct EventFileOptions {
  /// An event is in the file at the latest after so long; 0: as soon as the thread gets to it. At
  /// most a year.
  std::chrono::milliseconds flush = std::chrono::seconds(2);
  std::size_t queue = 100;  ///< events that may wait for the thread; above 0
  /// Seconds since 1970; empty: the system's clock. Called by one thread at a time.
  std::function<double()> wall_time = {};
};

/// Error: EventFileOptions::flush is out of range.
void check_flush(std::chrono::milliseconds flush);

/// A new file DIR/events.out.tfevents.SECONDS.HOST.PID.N, with the seconds since 1970. Values are
/// encoded and written by a thread of its own; who adds waits only while the queue is full. The
/// destructor writes what is left.
///
/// A training run's folder is one run in TensorBoard, and the files in it follow upon each other by
/// name. Readers may read at any time: the file only grows, and a record that is cut off by the end
/// of it is one that is still being written.
///
/// Belfry itself reads no event file, so whatever lies in the folder already is left alone.
///
/// Events that cannot be written (no folder, a full disk) are left out, with one warning in the
/// log; later events are tried again, and the file is readable in any case. Nothing here is an
/// Error but options out of range. Thread rules: any number of threads.
class EventFile {
 public:
  /// Begins a file in the folder `dir`. Error: an option is out of range.
  explicit EventFile(const std::string& dir, EventFileOptions options = {});
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  const std::string& path() const;  ///< of the file

  /// One event with these values.
  void add(std::int64_t step, std::vector<EventValue> values);
  /// The model's graph, as of graph_def().
  void add_graph(std::int64_t step, std::vector<std::byte> graph_def);
  /// SessionStatus::start says which step comes next: readers forget what earlier files of the
  /// folder have from there on, which a run that failed after its last checkpoint has left.
  /// `checkpoint` is its path, if that is the status.
  void add_session(std::int64_t step, SessionStatus status, std::string checkpoint = {});

  /// Returns when what was added before is in the file, or could not be written.
  void flush();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The graph as a serialized GraphDef of TensorFlow's (core/framework/graph.proto): a node for each
/// of ours, with its op, inputs, options as text, and the shapes of its outputs. Names are scope
/// paths, so that TensorBoard folds scopes into boxes; what computes gradients stands under
/// `gradients/`. Nothing runs such a graph: the ops are Belfry's.
std::vector<std::byte> graph_def(const Graph& graph);

}  // namespace belfry::hooks
