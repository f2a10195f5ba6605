// The test runner's settings. Most test files share a process and its loaded modules, which halves the run time. Files
// that mock or count modules, or that test threads, signals or processes, run in a process of their own.

import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { isLong } from './support/long.ts'
import { HANG_MS, PATIENCE_MS } from './support/patience.ts'

/** The system tests of `npm test`, which takes two minutes. LONG=1 adds the others. */
const SYSTEM = [
  'test/system/{access-matrix,beside,compose,development-servers,docs-examples}.test.ts',
  'test/system/{main,memory-loop,python-client,story}.test.ts',
  'test/system/scripts/**/*.test.ts',
  'test/system/server/http/http.*.test.ts',
  'test/system/store/embedded/data-dir.test.ts',
]

const OWN_PROCESS = [
  'test/unit/runtime/counters.test.ts',
  'test/backend/providers/openai/embedder.test.ts',
  'test/backend/providers/registry.test.ts',
  'test/unit/web/session/sockets.test.ts',
  'test/system/store/embedded/data-dir.test.ts',
]
const OWN_PROCESS_LONG = [
  'test/system/scripts/chat-screen.test.ts',
  'test/system/bus/redis*.test.ts',
  'test/system/{attacks,automatic,check-faults,faults,package}.test.ts',
  'test/system/store/db/{db,migrate}.test.ts',
  'test/system/store/embedded/embedded.test.ts',
]
const ownProcess = isLong ? [...OWN_PROCESS, ...OWN_PROCESS_LONG] : OWN_PROCESS

const REUSED = fileURLToPath(new URL('support/reused-embedded.ts', import.meta.url))

/** Lets the files that share a process share embedded databases too. */
const reuseEmbedded: Plugin = {
  name: 'reuse-embedded-databases',
  enforce: 'pre',
  resolveId: (source, importer) =>
    source.endsWith('store/embedded/embedded.ts') && importer !== REUSED ? REUSED : null,
}

/**
 * Starts the files with a process of their own first, which vitest runs as one group, and then the system tests: they
 * take longest, and one that starts last would run alone.
 */
class SystemFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ project, moduleId }: TestSpecification) =>
      project.name === 'own' ? 0 : moduleId.includes('/test/system/') ? 1 : 2
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  // Uses the build of graphql that Node loads for packages in node_modules; with two builds, instanceof fails.
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve('graphql') }] },
  test: {
    globalSetup: 'test/support/temporary-directory.ts',
    setupFiles: ['test/support/patient-wait.ts', 'test/support/own-redis.ts'],
    expect: { poll: { timeout: PATIENCE_MS } },
    pool: 'forks',
    sequence: { sequencer: SystemFirst },
    // Runs more files at once than there are cores (two), because tests often wait for leases, polls and processes.
    // With LONG=1, they also wait for the services.
    maxWorkers: isLong ? 4 : 3,
    testTimeout: HANG_MS,
    hookTimeout: HANG_MS,
    projects: [
      {
        extends: true,
        plugins: [reuseEmbedded],
        test: {
          name: 'shared',
          include: ['test/{backend,contract,unit}/**/*.test.ts', ...(isLong ? ['test/system/**/*.test.ts'] : SYSTEM)],
          exclude: ownProcess,
          isolate: false,
          // Most objects of a test are short-lived: larger semi-spaces halve the time of garbage collection.
          execArgv: ['--max-semi-space-size=64'],
        },
      },
      {
        extends: true,
        // Disables the optimising compiler for PGlite's WebAssembly: compiling takes 3 s per process, more than the
        // optimised code saves in one test file.
        test: { name: 'own', include: ownProcess, execArgv: ['--liftoff-only'] },
      },
    ],
  },
})
