// The version of Colloquy, and the versions of packages whose private parts the code uses. package.json requires exactly
// these versions, but the package manager of an application that uses Colloquy as a library may install others.

import { createRequire } from 'node:module'

/** The only versions that are known to work, and the file that uses the private parts. */
export const EXACT_VERSIONS = {
  pg: { version: '8.23.1', usedBy: 'store/db/scoped-query.ts' },
  'prom-client': { version: '15.1.3', usedBy: 'server/load/metrics-registry.ts' },
} as const

/** A package has another version than the code needs. The message says which, and how to install it. */
class WrongPackageVersion extends Error {
  override readonly name = 'WrongPackageVersion'
}

const require = createRequire(import.meta.url)

const installedVersion = (name: string): string => (require(`${name}/package.json`) as { version: string }).version

/** @throws WrongPackageVersion */
export function requireVersion(name: keyof typeof EXACT_VERSIONS, installed = installedVersion(name)): void {
  const { version } = EXACT_VERSIONS[name]
  if (installed === version) return
  throw new WrongPackageVersion(
    `Colloquy needs ${name} ${version}, but ${installed} is installed. Add "${name}": "${version}" to "overrides" `
      + '(npm, pnpm) or "resolutions" (Yarn) in package.json, and install again.',
  )
}

/** Returns the version in Colloquy's package.json, which is in the folder above src/ and dist/. */
export const ownVersion = (): string => (require('../../package.json') as { version: string }).version
