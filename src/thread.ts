// Starts a TypeScript module in a thread of its own, wherever this one runs: under tsx, under vitest, as a library.
// Node 20 does not hand tsx's hooks on to threads (privatenumber/tsx#354), so each thread registers them first.

import { Worker, type WorkerOptions } from 'node:worker_threads'

/** `new Worker` for a .ts module, given by its file: URL. */
export function startThread(module: URL, options: WorkerOptions = {}): Worker {
  const code = `import { register } from '${import.meta.resolve('tsx/esm/api')}'; register(); await import('${module}')`
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), { ...options, execArgv: [] })
}
