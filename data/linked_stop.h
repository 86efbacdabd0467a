#pragma once
// Ending a part of a pipeline. Internal to data/.

#include <stop_token>
#include <utility>

namespace belfry::data {

/// Stops when it is told to, and when its parent stops. Whoever has a thread that reads a source
/// gives the source such a token, so that it can end that thread while the stream goes on.
class LinkedStop {
 public:
  explicit LinkedStop(std::stop_token parent) : on_parent_(std::move(parent), Forward{source_}) {}

  std::stop_token token() const { return source_.get_token(); }
  void request() { source_.request_stop(); }

 private:
  struct Forward {
    std::stop_source source;
    void operator()() { source.request_stop(); }
  };

  std::stop_source source_;
  std::stop_callback<Forward> on_parent_;
};

}  // namespace belfry::data
