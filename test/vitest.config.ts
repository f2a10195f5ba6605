// How the tests run: two files at once. Most share a process and its loaded modules with the files before them, which
// takes half the time; files that mock or count modules, or that test threads, signals and processes, get their own.

import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const OWN_PROCESS = [
  'test/*.test.ts',
  'test/bench/**/*.test.ts',
  'test/bus/**/*.test.ts',
  'test/providers/**/*.test.ts',
  'test/scenario/**/*.test.ts',
  'test/server/**/*.test.ts',
  'test/store/**/*.test.ts',
]

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  // The build of graphql that Node takes, as its users in node_modules do: of two builds, nothing is an instance.
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve('graphql') }] },
  test: {
    pool: 'forks',
    // Much of their time is waiting, for leases, looks and processes: two at once, also where there are two cores.
    maxWorkers: 2,
    // PGlite's WebAssembly stays as compiled on load: optimising it costs each process 3 s that few files earn back.
    execArgv: ['--liftoff-only'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'shared', include: ['test/**/*.test.ts'], exclude: OWN_PROCESS, isolate: false } },
      { extends: true, test: { name: 'own', include: OWN_PROCESS } },
    ],
  },
})
