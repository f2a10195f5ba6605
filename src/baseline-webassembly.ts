// Saves the memory of V8's optimising compiler for WebAssembly.

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
