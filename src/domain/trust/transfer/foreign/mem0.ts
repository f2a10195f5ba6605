// Memories of mem0, as `get_all` lists them: an element is a memory. Each becomes a fact.

import { objectOf, textOf, timeOf, type Converter, type ConverterOptions } from './foreign.ts'

export const createMem0 = ({ owner, unfit }: ConverterOptions): Converter => ({
  convert(element) {
    const {
      id,
      memory,
      user_id: user,
      agent_id: agent,
      created_at: created,
      updated_at: updated,
      ...more
    } = objectOf(element, 'mem0', 'memory')
    const userId = textOf(user) || (textOf(agent) ? null : owner)
    if (Object.keys(more.metadata ?? {}).length > 0) unfit('metadata of memories')
    if (Array.isArray(more.categories) && more.categories.length > 0) unfit('categories of memories')
    return {
      facts: [
        {
          id: textOf(id) || textOf(memory),
          userId,
          subject: userId ?? textOf(agent),
          predicate: 'remembers',
          object: textOf(memory),
          createdAt: timeOf(updated) ?? timeOf(created),
        },
      ],
    }
  },
})
