import { fileURLToPath } from 'node:url'

/** Node flags for processes that run for seconds: V8 does not optimise PGlite's WebAssembly, which would take 2 s. */
export const SHORT_LIVED = ['--liftoff-only']

/** Flags of Node for a process that runs TypeScript. */
export const TYPESCRIPT = ['--import', 'tsx']

/** Path of the script of `npm start`. */
export const START = fileURLToPath(new URL('../../scripts/start.js', import.meta.url))
