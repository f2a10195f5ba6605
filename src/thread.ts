// Starts a module of this package in a worker thread: the compiled module in dist/, or TypeScript under tsx and vitest.

import { Worker, type WorkerOptions } from 'node:worker_threads'

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
