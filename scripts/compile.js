// @ts-check
// Compiles the sources after an installation, so that the first `npm start` does not.

import { compiledSource } from './compiled.js'

await compiledSource()
