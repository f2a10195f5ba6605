// Starts a module of this package in a worker thread: the compiled module in dist/, or TypeScript under tsx and vitest.

import { setFlagsFromString } from 'node:v8'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** Maximum size of a semi-space of a thread, MiB. */
const SEMI_SPACE_MB = 8

/**
 * Limits the semi-spaces of threads that start later. The command enlarges them for its main thread (bin.ts), but the flag
 * applies to all threads, and each would use up to 170 MB more. V8 reads it when a thread starts.
 */
export function limitSemiSpaces(): void {
  setFlagsFromString(`--max-semi-space-size=${SEMI_SPACE_MB}`)
}

/**
 * Creates a Worker for the module with the given source URL (`new URL('./worker.ts', import.meta.url)`).
 *
 * Node 20 does not pass tsx's hooks to threads (privatenumber/tsx#354), so a thread registers them before it imports
 * TypeScript.
 */
export function startThread(source: URL, options: WorkerOptions = {}): Worker {
  const isCompiled = import.meta.url.endsWith('.js')
  if (isCompiled) return new Worker(new URL(source.href.replace(/\.ts$/, '.js')), { ...options, execArgv: [] })
  const code = `import { register } from '${import.meta.resolve('tsx/esm/api')}'; register(); await import('${source}')`
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), { ...options, execArgv: [] })
}
