// @ts-check
// Runs a CommonJS script with V8's code cache, so that a start does not parse and compile it again.

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { Script } from 'node:vm'

/** Time after which all functions that a start uses have been compiled, ms. */
const STARTED_MS = 5_000

/** @param {string} path */
function readIfExists(path) {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

/**
 * Runs the script. If there is no usable cache, writes one after STARTED_MS, or earlier when the process exits; it
 * contains the functions that have been compiled by then. V8 rejects a cache of another version or with other flags.
 * @param {string} path
 */
export function runWithCodeCache(path) {
  const require = createRequire(path)
  // Node applies source maps only to modules that it loads itself.
  if (process.sourceMapsEnabled) return void require(path)
  const cachePath = `${path}.${process.version}.cache`
  const cachedData = readIfExists(cachePath)
  const source = readFileSync(path, 'utf8').replace(/^#!.*/, '')
  const script = new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename: path,
    ...(cachedData && { cachedData }),
  })
  if (!cachedData || script.cachedDataRejected) writeLater(script, cachePath)
  const module = { exports: {} }
  script.runInThisContext()(module.exports, require, module, path, dirname(path))
}

/**
 * Writes the cache after STARTED_MS, or earlier when the process exits.
 * @param {Script} script
 * @param {string} cachePath
 */
function writeLater(script, cachePath) {
  const write = () => {
    process.off('exit', write)
    clearTimeout(timer)
    try {
      const draft = `${cachePath}.${process.pid}`
      writeFileSync(draft, script.createCachedData())
      renameSync(draft, cachePath)
    } catch {
      // Ignored: the cache only saves time, and the directory may be read-only.
    }
  }
  const timer = setTimeout(write, STARTED_MS).unref()
  process.once('exit', write)
}
