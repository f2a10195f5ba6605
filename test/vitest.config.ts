// How the tests run: each file in a process of its own, so that none sees another's state, signals or threads.

import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  // The build of graphql that Node takes, as its users in node_modules do: of two builds, nothing is an instance.
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve('graphql') }] },
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Much of their time is waiting, for leases, looks and processes: two at once, also where there are two cores.
    maxWorkers: 2,
    // PGlite's WebAssembly stays as compiled on load: optimising it costs each process 3 s that few files earn back.
    execArgv: ['--liftoff-only'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
