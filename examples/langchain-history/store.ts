// A LangGraph store: an item is a conversation with its namespace, key and value as metadata. `search` filters by
// namespace and equal values, newest first, and ignores `query`, as LangGraph's own stores do without an index.
import { BaseStore, type Item, type Operation, type OperationResults } from '@langchain/langgraph'
import { conversationsOf, type Transcript } from 'colloquy/conversation-core'
import { conditionsOf, selectNamespaces, toItem, toMetadata } from './items.ts'

export class ColloquyStore extends BaseStore {
  constructor(readonly transcript: Transcript) {
    super()
  }
  async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results: unknown[] = []
    for (const operation of operations) results.push(await this.run(operation))
    return results as OperationResults<Op>
  }
  private async run(operation: Operation): Promise<unknown> {
    if ('namespacePrefix' in operation) {
      const { namespacePrefix, filter = {}, limit = 10, offset = 0 } = operation
      return (await this.find(namespacePrefix, filter, offset + limit)).slice(offset, offset + limit)
    }
    if (!('key' in operation)) return selectNamespaces(await this.find([]), operation)
    const { namespace, key } = operation
    const id = JSON.stringify([...namespace, key])
    const found = await this.transcript.findConversation(id)
    if (!('value' in operation)) return found && toItem(found)
    if (operation.value === null) return found && this.transcript.deleteConversation(found.id)
    const metadata = toMetadata({ namespace, key, value: operation.value })
    if (found) await this.transcript.updateConversation(found.id, { metadata })
    else await this.transcript.createConversation({ key: id, metadata, participants: [] })
  }
  private async find(prefix: string[], filter: object = {}, limit = Infinity): Promise<Item[]> {
    const items: Item[] = []
    for await (const stored of conversationsOf(this.transcript, { metadata: conditionsOf(prefix, { ...filter }) })) {
      if (items.push(toItem(stored)) >= limit) break
    }
    return items
  }
}
