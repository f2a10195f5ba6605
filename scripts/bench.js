// @ts-check
// `npm run bench`: runs the compiled benchmarks. They call the domain in their own process, and tsx would slow it down:
// it names each closure when the closure is created.

import { pathToFileURL } from 'node:url'
import { compiledSource } from './compiled.js'

await import(pathToFileURL(await compiledSource('scripts/bench/main.ts')).href)
