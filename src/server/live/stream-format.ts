// The formats of event streams: the events of GraphQL over Server-Sent Events, and those of the REST API. In both, the id
// of an entry of a conversation's journal is its seq, so that an EventSource resumes after the last event it received.

import { WHOLE_RESULT, type PayloadFormat } from './fan-out.ts'
import type { EventFormat } from './operation.ts'

export type StreamFormat = EventFormat & {
  /** The lines before the data of a result that has no id. */
  withoutId: Buffer
}

/** @param type the line with the type of each event; empty for the default type, `message` */
function createFormat(type: string, payload: PayloadFormat): StreamFormat {
  const withoutId = Buffer.from(`${type}data: `)
  /** The prefix that was computed last. It is cached, because an event is added to the streams of its readers in turn. */
  let newest = { id: 0, prefix: withoutId }
  return {
    ...payload,
    withoutId,
    // Ephemeral events have no id.
    prefixOf(event) {
      const id = event.type === 'Gap' ? event.resumeAfterSeq : event.seq
      if (id === null) return withoutId
      if (newest.id !== id) newest = { id, prefix: Buffer.from(`${type}id: ${id}\ndata: `) }
      return newest.prefix
    },
  }
}

/** Each event has the type `next`, and the whole result as its data. */
export const GRAPHQL_STREAM = createFormat('event: next\n', WHOLE_RESULT)

/** The data of each event is the value of the subscription's only field, or `{ errors }`. */
export const VALUE_STREAM = createFormat('', {
  name: 'value',
  valueOf: ({ data, errors }) => (data && !errors ? Object.values(data)[0] : { errors }),
})
