// The worker thread of tokens.ts: counts the tokens of the text in each message.

import { parentPort } from 'node:worker_threads'
import { countInline } from './tokens.ts'

parentPort!.on('message', ({ id, text }: { id: number; text: string }) => {
  parentPort!.postMessage({ id, tokens: countInline(text) })
})
