// Installs exact versions of the peers on demand, outside package.json. Mastra's packages declare Node 22 but also run
// on Node 20; version 5 of PostGraphile does not.

import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { resolve, sep } from 'node:path'
import { promisify } from 'node:util'

const VERSIONS = {
  '@graphql-yoga/redis-event-target': '3.0.4',
  '@mastra/core': '1.71.0',
  '@mastra/memory': '1.31.0',
  '@mastra/pg': '1.27.1',
  graphql: '15.11.0',
  ioredis: '5.11.1',
  postgraphile: '4.14.1',
} as const

const DIRECTORY = resolve('node_modules/.cache/peers') + sep

/** Returns a peer's name and version, for the notes of a report. */
export const versionOf = (name: keyof typeof VERSIONS): string => `${name} ${VERSIONS[name]}`

/** Loads an installed package. The caller declares its types. */
export const loadPeer = (name: keyof typeof VERSIONS): unknown => createRequire(`${DIRECTORY}package.json`)(name)

/** Installs the peers unless exactly these versions are installed. */
export async function installPeers(progress: (message: string) => void): Promise<void> {
  const wanted = JSON.stringify({ private: true, dependencies: VERSIONS })
  const marker = `${DIRECTORY}installed.json`
  if ((await readFile(marker, 'utf8').catch(() => '')) === wanted) return
  progress(`installing ${Object.keys(VERSIONS).join(', ')} into ${DIRECTORY}`)
  await rm(DIRECTORY, { recursive: true, force: true })
  await mkdir(DIRECTORY, { recursive: true })
  await writeFile(`${DIRECTORY}package.json`, wanted)
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
  await promisify(execFile)('npm', ['install', '--prefix', DIRECTORY, ...options])
  await writeFile(marker, wanted)
}
