#include "belfry/framework/backend/cuda/stream.h"

#include <new>

#include "belfry/framework/backend/cuda/captures.h"
#include "belfry/framework/backend/cuda/quietly.h"
#include "belfry/framework/base/error.h"

namespace belfry::cuda {
namespace {

class CudaEvent final : public Event {
 public:
  CudaEvent(Api& api, int device, bool timed) : api_(api) {
    api_.use(device);
    handle_ = api_.create_event(timed);
  }
  ~CudaEvent() override {
    quietly([&] { api_.destroy_event(handle_); });
  }
  bool done() const override { return api_.done(handle_); }
  void synchronize() override { api_.synchronize(handle_); }
  double seconds_since(const Event& earlier) const override {
    return api_.seconds_between(static_cast<const CudaEvent&>(earlier).handle_, handle_);
  }
  EventHandle handle() const { return handle_; }

 private:
  Api& api_;
  EventHandle handle_ = nullptr;
};

class Graph final : public CapturedWork {
 public:
  Graph(Api& api, GraphHandle handle) : api_(api), handle_(handle) {}
  ~Graph() override {
    quietly([&] { api_.destroy_graph(handle_); });
  }
  GraphHandle handle() const { return handle_; }

 private:
  Api& api_;
  GraphHandle handle_;
};

class CudaStream final : public Stream {
 public:
  CudaStream(Api& api, int device) : api_(api), device_(device) {
    api_.use(device_);
    handle_ = api_.create_stream();
  }
  ~CudaStream() override {
    quietly([&] {
      api_.use(device_);
      api_.synchronize(handle_);
    });
    quietly([&] { api_.destroy_stream(handle_); });
  }

  void activate(int) override { api_.use(device_); }

  void copy_to_device(void* to, const void* from, Bytes size) override {
    copy(to, from, size, Direction::to_device);
  }
  void copy_to_host(void* to, const void* from, Bytes size) override {
    copy(to, from, size, Direction::to_host);
  }
  void copy_on_device(void* to, const void* from, Bytes size) override {
    copy(to, from, size, Direction::on_device);
  }

  void record(Event& event) override {
    api_.record(static_cast<CudaEvent&>(event).handle(), handle_);
  }
  void wait(const Event& event) override {
    api_.wait(handle_, static_cast<const CudaEvent&>(event).handle());
  }
  void synchronize() override {
    ensure(!capturing_, "stream: the host cannot wait for work that is being captured");
    api_.synchronize(handle_);
  }

  bool can_capture() const override { return true; }
  void begin_capture() override {
    ensure(!capturing_, "stream: it is capturing already");
    captures().begin();
    try {
      api_.begin_capture(handle_);
    } catch (...) {
      captures().end();
      throw;
    }
    capturing_ = true;
  }
  std::unique_ptr<CapturedWork> end_capture() override {
    ensure(capturing_, "stream: it is not capturing");
    capturing_ = false;
    struct End {
      ~End() { captures().end(); }
    } end;
    GraphHandle graph = api_.end_capture(handle_);
    if (!graph) return nullptr;
    try {
      return std::make_unique<Graph>(api_, graph);
    } catch (const std::bad_alloc&) {
      quietly([&] { api_.destroy_graph(graph); });
      throw;
    }
  }
  void replay(CapturedWork& work) override {
    api_.replay(static_cast<Graph&>(work).handle(), handle_);
  }

  void push_range(const char* name) noexcept override { api_.push_range(name); }
  void pop_range() noexcept override { api_.pop_range(); }

  void launch(const KernelCall& call) { api_.launch(call, handle_); }

  StreamHandle handle() const { return handle_; }

 private:
  void copy(void* to, const void* from, Bytes size, Direction direction) {
    if (size.count <= 0) return;
    api_.use(device_);  // memory of a pool is copied from its own device
    api_.copy(to, from, size.count, direction, handle_);
  }

  Api& api_;
  int device_;
  StreamHandle handle_ = nullptr;
  bool capturing_ = false;
};

}  // namespace

std::unique_ptr<Stream> make_stream(Api& api, int device) {
  return std::make_unique<CudaStream>(api, device);
}

std::unique_ptr<Event> make_event(Api& api, int device, bool timed) {
  return std::make_unique<CudaEvent>(api, device, timed);
}

void enqueue(Stream& stream, const KernelCall& call) {
  static_cast<CudaStream&>(stream).launch(call);
}

StreamHandle handle_of(Stream& stream) { return static_cast<CudaStream&>(stream).handle(); }

}  // namespace belfry::cuda
