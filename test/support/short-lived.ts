import { fileURLToPath } from 'node:url'

/** Flags of Node for processes that live for seconds: they do not optimise PGlite's WebAssembly, which takes 2 s. */
export const SHORT_LIVED = ['--liftoff-only']

/** Flags of Node for a process that runs TypeScript. */
export const TYPESCRIPT = ['--import', 'tsx']

/** Path of the script of `npm start`. */
export const START = fileURLToPath(new URL('../../scripts/start.js', import.meta.url))
