#pragma once
// How the threads of kernels wait for each other: by spinning or asleep.

namespace belfry::cpu {

/// To be called before each step by the thread that runs it, whose team has `threads` threads.
/// Those that wait spin for some milliseconds as long as they have their cores to themselves. Where
/// they had to wait for cores, with other programs or with threads of this one, they go to sleep,
/// from 4 up to 64 seconds long, and then try again. Results do not depend on it. An environment
/// that says how to wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT or KMP_BLOCKTIME) is obeyed. Any thread
/// may call it.
void choose_waiting(int threads);

}  // namespace belfry::cpu
