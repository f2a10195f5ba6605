// A LangChain chat history on a store of colloquy/conversation-core: each message is a turn of the conversation.
import { BaseListChatMessageHistory } from '@langchain/core/chat_history'
import type { BaseMessage } from '@langchain/core/messages'
import type { ConversationStore } from 'colloquy/conversation-core'
import { toMessages, toStored } from './messages.ts'

export class ColloquyChatMessageHistory extends BaseListChatMessageHistory {
  lc_namespace = ['colloquy']
  constructor(
    readonly store: ConversationStore,
    readonly conversationId: string,
  ) {
    super()
  }
  async getMessages(): Promise<BaseMessage[]> {
    return (await this.store.listMessages(this.conversationId)).flatMap(toMessages)
  }
  addMessage(message: BaseMessage): Promise<void> {
    return this.addMessages([message])
  }
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    await this.store.appendMessages(messages.map((message) => toStored(this.conversationId, message)))
  }
}
