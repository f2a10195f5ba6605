// @ts-check
// `npm start`: compiles the command `colloquy` of this checkout if necessary, and runs it.

import { runWithCodeCache } from './code-cache.js'
import { bundledCommand } from './compiled.js'

runWithCodeCache(await bundledCommand())
