#pragma once
// Random delays where threads take locks and give them up, notify, wait for and join others, so
// that they meet in orders that are rare without; waiting ends without a notification, too. The
// linker puts the functions here before those of pthreads and of the standard library wherever the
// library's code and that of its tests calls them. Atomics and the locks within libraries are as
// they were.

#include <cstdint>

namespace belfry {

/// From now on every `one_in`-th of these calls, drawn by `seed`, is delayed by up to 300
/// microseconds; 0: none. At the start of a program BELFRY_DELAYS in its environment is the seed,
/// and one in 16 is delayed; without it none is. From any thread.
void delay_locks(std::uint32_t seed, std::uint32_t one_in);
/// The delays of this process until now. From any thread.
std::uint64_t delays_made();

}  // namespace belfry
