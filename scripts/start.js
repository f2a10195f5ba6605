// @ts-check
// `npm start`: runs the command `colloquy` of this checkout, compiled.

import { runWithCodeCache } from './code-cache.js'
import { bundledCommand } from './compiled.js'

runWithCodeCache(await bundledCommand())
