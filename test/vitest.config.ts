// The test runner's settings. Most test files share a process and its loaded modules, which takes half the time; files
// that mock or count modules, or that test threads, signals or processes, run in a process of their own.

import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vitest/config'

const OWN_PROCESS = [
  'test/*.test.ts',
  'test/bench/**/*.test.ts',
  'test/bus/redis*.test.ts',
  'test/providers/openai/embedder.test.ts',
  'test/providers/registry.test.ts',
  'test/providers/transformers/*.test.ts',
  'test/scenario/{attacks,automatic,check-faults,demo,faults}.test.ts',
  'test/server/{fan-out,graphiql,http,post,ws}.test.ts',
  'test/store/{boss,data-dir,db,embedded,job-queue,migrate}*.test.ts',
]

/** The nested package of stock clients, with the packages that it installs. */
const NESTED = 'test/clients/**'

const REUSED = fileURLToPath(new URL('support/reused-embedded.ts', import.meta.url))

/** Lets the files that share a process share embedded databases too. */
const reuseEmbedded: Plugin = {
  name: 'reuse-embedded-databases',
  enforce: 'pre',
  resolveId: (source, importer) => (source.endsWith('store/embedded.ts') && importer !== REUSED ? REUSED : null),
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  // Uses the build of graphql that Node loads for packages in node_modules; with two builds, instanceof fails.
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve('graphql') }] },
  test: {
    globalSetup: 'test/support/temporary-directory.ts',
    pool: 'forks',
    // Runs three files at once on two cores, because tests often wait for leases, polls and processes.
    maxWorkers: 3,
    // Disables the optimising compiler for PGlite's WebAssembly: it takes 3 s per process, and saves less in most
    // files.
    execArgv: ['--liftoff-only'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        plugins: [reuseEmbedded],
        test: { name: 'shared', include: ['test/**/*.test.ts'], exclude: [...OWN_PROCESS, NESTED], isolate: false },
      },
      { extends: true, test: { name: 'own', include: OWN_PROCESS } },
    ],
  },
})
