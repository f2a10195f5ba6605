// uploadFile of the client: exactly once although requests fail, with the errors of the server, and usable URLs.

import { describe, expect, it } from 'vitest'
import { ColloquyError, connect } from '../../../../src/client/index.ts'
import { filesUrl } from '../../../../src/client/transport/upload.ts'
import { backends } from '../../../support/backend.ts'
import { png } from '../../../support/files.ts'
import { useServer } from '../../../support/server.ts'

describe.each(backends)('uploadFile on $name', (backend) => {
  const server = useServer(backend)
  const file = (type = 'image/png') => new File([png(640, 480)], 'rose.png', { type })

  /** Connects as ada. The first `lost` answers are lost. */
  async function newClient(lost = 0) {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada', 'bob')
    let sent = 0
    const client = connect({
      url: `${server.url}/graphql`,
      tenant: tenant.name,
      actor: 'ada',
      onError: () => {},
      async fetch(...args) {
        const response = await fetch(...args)
        if (String(args[0]).includes('/files?') && sent++ < lost) throw new TypeError('lost')
        return response
      },
    })
    return { client, conversation: client.conversation(id), sent: () => sent, tenant: tenant.name }
  }

  it('uploads a file once, and a turn shows it by a URL that can be read', async () => {
    const { client, conversation, sent, tenant } = await newClient(2)
    const attachment = await conversation.uploadFile(file())
    expect(attachment).toMatchObject({ mediaType: 'image/png', fileName: 'rose.png', width: 640, height: 480 })
    expect(sent()).toBe(3)
    expect(await server.deps.db.of(tenant).attachment.count({ where: { tenant } })).toBe(1)
    const turn = await conversation.append({ parts: [{ text: 'Look' }, { file: { attachmentId: attachment.id } }] })
    const [, part] = turn.parts
    if (part?.__typename !== 'FilePart') throw new Error('no file')
    const response = await fetch(client.fileUrl(part.attachment!))
    expect(Buffer.from(await response.arrayBuffer()).equals(png(640, 480))).toBe(true)
    await client.close()
  })

  it('fails with the error of the server, which is not repeated', async () => {
    const { client, conversation, sent } = await newClient()
    const error = await conversation.uploadFile(file('application/pdf')).catch((failure: unknown) => failure)
    expect(error).toBeInstanceOf(ColloquyError)
    expect(error).toMatchObject({ code: 'INVALID_INPUT', issues: [{ path: ['file'] }] })
    const aborted = new AbortController()
    aborted.abort(new Error('stop'))
    await expect(conversation.uploadFile(file(), { signal: aborted.signal })).rejects.toThrow('stop')
    expect(sent()).toBe(1)
    await client.close()
  })
})

it('finds the files beside the endpoint', () => {
  expect(filesUrl('https://x.org/graphql')).toBe('https://x.org/api/v1/files')
  expect(filesUrl('https://x.org/chat/graphql/?a=/b')).toBe('https://x.org/chat/api/v1/files')
  expect(filesUrl('/graphql')).toBe('/api/v1/files')
})
