#pragma once
// Calls of C libraries that tell of errors by calling back. Internal to data/.

#include <array>
#include <cerrno>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::data {

/// libjpeg and libpng want the function that they call about an error never to return. Ours calls
/// leave(), which jumps to where the library was called; no frame in between may hold an object
/// with a destructor. It stays where it is: the library keeps a pointer to it.
struct LibraryCall {
  std::jmp_buf caller{};
  std::array<char, 256> message{};  ///< may be written before leave()

  [[noreturn]] void leave() { std::longjmp(caller, 1); }
  [[noreturn]] void leave(const char* why) {
    std::snprintf(message.data(), message.size(), "%s", why);
    leave();
  }

  /// Calls `body`, which may call the library. Error naming `what`, the message and the library
  /// after leave(), which ends the body where it is: it must own nothing and throw nothing. The
  /// Error is an OutOfMemory where the body found no memory, for which malloc() sets errno.
  template <class Body>
  [[gnu::noinline]] void run(Body body, std::string_view what, const char* library) {
    static_assert(std::is_trivially_destructible_v<Body>);
    errno = 0;
    if (setjmp(caller) == 0)
      body();
    else if (errno == ENOMEM)
      throw OutOfMemory(concat(what, ": ", message.data(), " (", library, ")"));
    else
      fail(what, ": ", message.data(), " (", library, ")");
  }
};

/// Appends `count` bytes, for callbacks that must not throw. False, and ENOMEM in errno: there is
/// no memory for them.
inline bool append_bytes(std::vector<std::byte>& to, const unsigned char* from,
                         std::size_t count) noexcept {
  try {
    auto bytes = std::as_bytes(std::span(from, count));
    to.insert(to.end(), bytes.begin(), bytes.end());
    return true;
  } catch (const std::exception&) {
    errno = ENOMEM;
    return false;
  }
}

}  // namespace belfry::data
