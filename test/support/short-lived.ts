/**
 * Flags of Node for processes that live for seconds: they run TypeScript, and do not optimise PGlite's WebAssembly, which
 * takes 2 s.
 */
export const SHORT_LIVED = ['--liftoff-only', '--import', 'tsx']
