// A LangGraph store: an item is a conversation whose metadata contains its namespace, key and value. `search` filters
// by namespace and equal values, and returns the newest items first or, with `query`, the most relevant ones.
import { BaseStore, type Operation, type OperationResults } from '@langchain/langgraph'
import { conditionsOf, selectNamespaces, toItem, toMetadata } from './items.ts'
import { itemsOf, recallItems, turnOf, type Backing } from './search.ts'

export class ColloquyStore extends BaseStore {
  constructor(readonly on: Backing) {
    super()
  }
  async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results: unknown[] = []
    for (const operation of operations) results.push(await this.run(operation))
    return results as OperationResults<Op>
  }
  private async run(operation: Operation): Promise<unknown> {
    const { transcript, viewer } = this.on
    if ('namespacePrefix' in operation) {
      const { namespacePrefix, filter = {}, limit = 10, offset = 0, query } = operation
      const where = conditionsOf(namespacePrefix, filter)
      const end = offset + limit
      const found = query ? recallItems(this.on, query, where, end) : itemsOf(transcript, where, end)
      return (await found).slice(offset, end)
    }
    if (!('key' in operation)) return selectNamespaces(await itemsOf(transcript, conditionsOf([], {})), operation)
    const { namespace, key } = operation
    const id = JSON.stringify([...namespace, key])
    const found = await transcript.findConversation(id)
    if (!('value' in operation)) return found && toItem(found)
    if (operation.value === null) return found && transcript.deleteConversation(found.id)
    const metadata = toMetadata({ namespace, key, value: operation.value })
    const stored = found
      ? await transcript.updateConversation(found.id, { metadata })
      : (await transcript.createConversation({ key: id, metadata, participants: [] })).conversation
    await transcript.appendTurns(stored.id, [turnOf(viewer.actor, metadata)])
  }
}
