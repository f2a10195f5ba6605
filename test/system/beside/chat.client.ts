// The data layer of a chat front end with the client of the package.

import { connect, type ConnectOptions } from '../../../src/client/index.ts'

export function openChat(options: ConnectOptions, id: string, onChange: () => void) {
  const conversation = connect(options).conversation(id)
  const transcript = conversation.transcript()
  return {
    lines: () => transcript.get().turns.map(({ actor, text }) => `${actor}: ${text}`),
    send: (text: string) => conversation.append(text),
    close: transcript.subscribe(onChange),
  }
}
