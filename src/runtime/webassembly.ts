// Chooses V8's compiler for WebAssembly: the baseline compiler, which needs less memory, or the optimising compiler,
// whose code is faster.

import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 compile WebAssembly only with its baseline compiler, in all threads of the process. Optimising Prisma's query
 * compiler takes 45 MB, which the threads of V8 keep, and makes statements no faster (`npm run bench -- boot`, `http`).
 * Must not be called with the embedded database, which is WebAssembly and several times slower without optimisation.
 */
export function useBaselineWebAssembly(): void {
  setFlagsFromString('--no-wasm-dynamic-tiering')
  setFlagsFromString('--no-wasm-tier-up')
}

/**
 * Runs `prepare`, and makes V8 optimise the WebAssembly functions that it calls for the first time, even after
 * useBaselineWebAssembly. V8 compiles a function on its first call. For small modules only: this thread waits.
 */
export function optimised<T>(prepare: () => T): T {
  setFlagsFromString('--no-liftoff')
  try {
    return prepare()
  } finally {
    setFlagsFromString('--liftoff')
  }
}
