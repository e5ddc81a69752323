/** Settings of the libraries that compute, for trainers and model servers wherever they run. */
export const threadVariables = {
  // A thread that waits for others spins for half a millisecond, then sleeps. Without spinning two threads are as slow as
  // one; threads that spin longer slow down the other runs on their cores.
  GOMP_SPINCOUNT: '10000',
  // Memory that another thread than the first one frees goes back to the system at once, and is cleared again for each use.
  MALLOC_ARENA_MAX: '1',
  TOKENIZERS_PARALLELISM: 'false',
}
