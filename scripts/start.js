// @ts-check
// `npm start`: runs the command `colloquy` of this checkout, compiled.

import { pathToFileURL } from 'node:url'
import { compiledSource } from './compiled.js'

await import(pathToFileURL(await compiledSource()).href)
