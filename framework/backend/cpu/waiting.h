#pragma once
// How the threads of kernels wait for each other: by spinning or asleep.

namespace belfry::cpu {

/// To be called before each step by the thread that runs it, whose team has `threads` threads.
/// Threads that wait for each other spin. If one of them had to wait for a core, then for the next
/// 4 to 64 seconds they wait asleep; LLVM's go on so until the next step. Results do not depend on
/// it. An environment that says how to wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT or KMP_BLOCKTIME) is
/// obeyed. Any thread may call it.
void choose_waiting(int threads);

}  // namespace belfry::cpu
