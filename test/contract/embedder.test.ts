// One suite on every embedder: what works with one works with all.

import { createStaticEmbedder } from '../../src/providers/static-embedder.ts'
import { embedderContract } from './embedder.ts'

embedderContract('the static embedder', createStaticEmbedder)
