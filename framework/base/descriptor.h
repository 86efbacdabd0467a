#pragma once
// System calls on files: what file.cpp and temporary_file.cpp share. Internal to base/.

#include <cerrno>
#include <string>
#include <utility>

namespace belfry {

/// "No space left on device; free some space or choose a folder on another disk"
std::string reason_and_remedy(int error);

/// Calls `system_call` until no signal interrupts it.
template <class Call>
auto retry(Call system_call) {
  auto result = system_call();
  while (result < 0 && errno == EINTR) result = system_call();
  return result;
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return value_; }
  explicit operator bool() const { return value_ >= 0; }
  int release() { return std::exchange(value_, -1); }
  /// 0, or the error. EINTR counts as closed: Linux releases the descriptor in any case.
  int close();

 private:
  int value_ = -1;
};

}  // namespace belfry
