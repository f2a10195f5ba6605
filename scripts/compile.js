// @ts-check
// Compiles the sources after an installation, so that the first `npm start` need not compile them.

import { compiledSource } from './compiled.js'

await compiledSource()
