#include "belfry/hooks/tensorboard/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "belfry/data/formats/tfrecord.h"
#include "belfry/framework/base/descriptor.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/hooks/record/values.h"

namespace belfry::hooks {
namespace {

using protobuf::WireWriter;
using Clock = std::chrono::steady_clock;
using Body = std::function<void(WireWriter&)>;  // the fields of an Event that are its own

constexpr std::size_t write_bytes = 1 << 20;  // so much is not kept back any longer

// Readers go from file to file in the order of the names, so numbers have leading zeros.
std::string file_name(double seconds) {
  static std::atomic<int> next_number{0};
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"localhost"};
  std::array<char, 32> time, number;
  std::snprintf(time.data(), time.size(), "%010lld", static_cast<long long>(seconds));
  std::snprintf(number.data(), number.size(), "%04d", next_number++);
  return concat("events.out.tfevents.", time.data(), ".", host.data(), ".", ::getpid(), ".",
                number.data());
}

// Records on their way into a file that only grows. The first one is `head`.
class RecordFile {
 public:
  RecordFile(std::string path, std::vector<std::byte> head)
      : path_(std::move(path)), head_(std::move(head)) {}
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  const std::string& path() const { return path_; }
  std::size_t waiting() const { return bytes_.size(); }  ///< bytes that are not in the file yet

  void append(std::span<const std::byte> record) {
    if (empty_ && bytes_.empty()) append_framed(head_);
    append_framed(record);
  }

  /// Writes what waits; 0, or the error. After that nothing waits but the rest of a record whose
  /// beginning is in the file: readers may have seen it, so nothing else may follow there.
  int write() {
    int error = descriptor_ ? 0 : open_or_error();
    std::size_t written = 0;
    while (error == 0 && written < bytes_.size()) {
      auto count = ::write(descriptor_.get(), bytes_.data() + written, bytes_.size() - written);
      if (count >= 0) {
        written += count;
      } else if (errno != EINTR) {
        error = errno;
      }
    }
    if (written > 0) empty_ = false;
    keep_begun_record(written);
    return error;
  }

  /// 0, or the error: file systems in a network and those with quotas may write only here.
  int close() { return descriptor_.close(); }

 private:
  int open_or_error() {
    try {
      return open();
    } catch (const std::bad_alloc&) {
      return ENOMEM;
    }
  }

  int open() {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
    if (error) return error.value();
    constexpr int flags = O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC;
    descriptor_ = Descriptor(retry([&] { return ::open(path_.c_str(), flags, 0666); }));
    return descriptor_ ? 0 : errno;
  }

  // All of it or, where memory is short, nothing.
  void append_framed(std::span<const std::byte> record) {
    data::TfRecordFrame frame = data::tfrecord_frame(record);
    std::size_t before = bytes_.size();
    try {
      bytes_.insert(bytes_.end(), frame.before.begin(), frame.before.end());
      bytes_.insert(bytes_.end(), record.begin(), record.end());
      bytes_.insert(bytes_.end(), frame.after.begin(), frame.after.end());
      ends_.push_back(bytes_.size());
    } catch (const std::bad_alloc&) {
      bytes_.resize(before);
      throw;
    }
  }

  void keep_begun_record(std::size_t written) {
    std::size_t rest = 0;
    if (written > 0 || begun_) {
      auto end = std::lower_bound(ends_.begin(), ends_.end(), written);
      if (end != ends_.end()) rest = *end - written;
    }
    begun_ = rest > 0;
    bytes_.erase(bytes_.begin(), bytes_.begin() + written);
    bytes_.resize(rest);
    ends_.clear();
    if (rest > 0) ends_.push_back(rest);
  }

  std::string path_;
  std::vector<std::byte> head_;
  Descriptor descriptor_;
  bool empty_ = true;              // the file
  std::vector<std::byte> bytes_;   // not written yet
  bool begun_ = false;             // they start inside a record
  std::vector<std::size_t> ends_;  // of the records in them
};

void begin_event(WireWriter& out, double wall_time) { out.float64(1, wall_time); }

std::vector<std::byte> version_event(double wall_time) {
  WireWriter out;
  begin_event(out, wall_time);
  out.text(3, "brain.Event:2");
  out.message(10, [&] { out.text(1, "belfry.hooks.EventFile"); });
  return out.release();
}

}  // namespace

// The queue is between the threads; file_ and what it waits for are the writing thread's alone.
struct EventFile::Impl {
  struct Event {
    double wall_time;
    std::int64_t step;
    Body body;
  };

  Impl(const std::string& dir, EventFileOptions chosen)
      : options(std::move(chosen)), file(make_file(dir)), thread([this] { run(); }) {}
  ~Impl() {
    {
      MutexLock lock(mutex);
      closing = true;
    }
    changed.notify_all();
    thread.join();
  }

  RecordFile make_file(const std::string& dir) {
    require(options.queue > 0, "event file: the queue must hold at least 1 event");
    check_flush(options.flush);
    if (!options.wall_time) options.wall_time = system_seconds;
    double now = options.wall_time();
    return {path_in(dir, file_name(now)), version_event(now)};
  }

  void post(std::int64_t step, Body body) {
    {
      MutexLock lock(mutex);
      while (queue.size() >= options.queue) changed.wait(mutex);
      queue.push_back({options.wall_time(), step, std::move(body)});
    }
    changed.notify_all();
  }

  void flush() {
    MutexLock lock(mutex);
    std::int64_t mine = ++flushes_asked;
    changed.notify_all();
    while (flushes_done < mine) changed.wait(mutex);
  }

  bool has_work() const BELFRY_REQUIRES(mutex) {
    return closing || !queue.empty() || flushes_asked > flushes_done;
  }

  void run() {
    for (bool last = false; !last;) {
      std::vector<Event> events;  // empty ones allocate nothing, which a std::deque does
      std::int64_t flushes = 0;
      bool asked = false;
      {
        MutexLock lock(mutex);
        while (!has_work()) {
          if (file.waiting() == 0) {
            changed.wait(mutex);
          } else if (!changed.wait_until(mutex, write_at)) {
            break;
          }
        }
        events.swap(queue);
        flushes = flushes_asked;
        asked = flushes > flushes_done;
        last = closing;
      }
      changed.notify_all();
      for (const Event& event : events) encode(event);
      if (last || asked || Clock::now() >= write_at) write();
      if (last) warn_of(file.close());
      {
        MutexLock lock(mutex);
        flushes_done = flushes;
      }
      changed.notify_all();
    }
  }

  void encode(const Event& event) {
    try {
      WireWriter out;
      begin_event(out, event.wall_time);
      if (event.step != 0) out.varint(2, event.step);
      event.body(out);
      if (file.waiting() == 0) write_at = Clock::now() + options.flush;
      file.append(out.release());
      if (file.waiting() >= write_bytes) write();
    } catch (const std::exception& error) {
      log_warning("event file: a value at step ", event.step, " is left out: ", error.what());
    }
  }

  void write() {
    if (file.waiting() == 0) return;
    warn_of(file.write());
    write_at = Clock::now() + options.flush;
  }

  void warn_of(int error) {
    if (error == 0 || std::exchange(warned, true)) return;
    try {
      log_warning("event file: cannot write to `", file.path(),
                  "`: ", std::generic_category().message(error),
                  "; what cannot be written will be missing in TensorBoard");
    } catch (const std::bad_alloc&) {  // for the message
      log_warning("event file: memory is short; values will be missing in TensorBoard");
    }
  }

  EventFileOptions options;
  RecordFile file;
  Clock::time_point write_at = Clock::now();  // when what waits must be written
  bool warned = false;

  Mutex mutex;
  Condition changed;
  std::vector<Event> queue BELFRY_GUARDED_BY(mutex);
  std::int64_t flushes_asked BELFRY_GUARDED_BY(mutex) = 0;
  std::int64_t flushes_done BELFRY_GUARDED_BY(mutex) = 0;
  bool closing BELFRY_GUARDED_BY(mutex) = false;

  std::thread thread;  // last: it uses all of these
};

void check_flush(std::chrono::milliseconds flush) {
  constexpr std::chrono::milliseconds most = std::chrono::hours(24 * 365);
  require(flush.count() >= 0 && flush <= most, "event file: flush is ", flush.count(),
          " ms; it must be at least 0 and at most a year");
}

EventFile::EventFile(const std::string& dir, EventFileOptions options)
    : impl_(std::make_unique<Impl>(dir, std::move(options))) {}

EventFile::~EventFile() = default;

const std::string& EventFile::path() const { return impl_->file.path(); }

void EventFile::add(std::int64_t step, std::vector<EventValue> values) {
  impl_->post(step, [values = std::move(values)](WireWriter& out) {
    out.message(5, [&] {
      for (const EventValue& value : values) out.message(1, [&] { value(out); });
    });
  });
}

void EventFile::add_graph(std::int64_t step, std::vector<std::byte> graph_def) {
  impl_->post(step, [graph = std::move(graph_def)](WireWriter& out) { out.bytes(4, graph); });
}

void EventFile::add_session(std::int64_t step, SessionStatus status, std::string checkpoint) {
  impl_->post(step, [status, checkpoint = std::move(checkpoint)](WireWriter& out) {
    out.message(7, [&] {
      out.varint(1, static_cast<std::uint64_t>(status));
      if (!checkpoint.empty()) out.text(2, checkpoint);
    });
  });
}

void EventFile::flush() { impl_->flush(); }

}  // namespace belfry::hooks
