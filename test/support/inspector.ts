// Searches the memory of another Node process through its inspector, which the process opens with `--inspect`. The
// inspector collects garbage first, so the search covers only reachable objects.

import { once } from 'node:events'
import { WebSocket } from 'ws'

export type Inspector = {
  /** Returns, for each text that is found, descriptions of the strings and buffers that contain it. */
  search(texts: readonly string[]): Promise<Record<string, string[]>>
  close(): void
}

type Reply = { id?: number; method?: string; params?: { chunk?: string }; result?: unknown; error?: unknown }

/** The parts of a heap snapshot that the search reads. */
type Snapshot = {
  snapshot: {
    meta: {
      node_fields: string[]
      node_types: [string[], ...unknown[]]
      edge_fields: string[]
      edge_types: [string[], ...unknown[]]
    }
  }
  nodes: number[]
  edges: number[]
  strings: string[]
}

/** Describes each string that contains the text: its kind, and the path of objects from the root to it. */
function placesOf(text: string, { snapshot: { meta }, nodes, edges, strings }: Snapshot): string[] {
  const at = (fields: string[]) =>
    Object.fromEntries(fields.map((name, index) => [name, index])) as Record<string, number>
  const [node, edge] = [at(meta.node_fields), at(meta.edge_fields)]
  const [nodeSize, edgeSize] = [meta.node_fields.length, meta.edge_fields.length]
  const matching = new Set([...strings.keys()].filter((index) => strings[index]!.includes(text)))
  if (matching.size === 0) return []
  const count = nodes.length / nodeSize
  const firstEdge = new Uint32Array(count + 1)
  for (let n = 0; n < count; n++) firstEdge[n + 1] = firstEdge[n]! + nodes[n * nodeSize + node.edge_count!]!
  /** The edge by which a breadth-first search from the root reached each node. */
  const reachedBy = new Int32Array(count).fill(-1)
  const from = new Int32Array(count).fill(-1)
  const queue = new Uint32Array(count)
  let end = 1
  for (let next = 0; next < end; next++) {
    const n = queue[next]!
    for (let e = firstEdge[n]!; e < firstEdge[n + 1]!; e++) {
      const to = edges[e * edgeSize + edge.to_node!]! / nodeSize
      if (to === 0 || reachedBy[to] !== -1 || meta.edge_types[0][edges[e * edgeSize + edge.type!]!] === 'weak') continue
      reachedBy[to] = e
      from[to] = n
      queue[end++] = to
    }
  }
  const nameOf = (n: number) => strings[nodes[n * nodeSize + node.name!]!]!.slice(0, 80)
  const stepTo = (n: number) => {
    const e = reachedBy[n]! * edgeSize
    const isIndex = ['element', 'hidden'].includes(meta.edge_types[0][edges[e + edge.type!]!]!)
    const name = edges[e + edge.name_or_index!]!
    return `.${isIndex ? name : strings[name]} ${nameOf(n)}`
  }
  const found: string[] = []
  for (let n = 0; n < count; n++) {
    if (!matching.has(nodes[n * nodeSize + node.name!]!) || reachedBy[n] === -1) continue
    const path: string[] = []
    for (let each = n; each !== 0; each = from[each]!) path.unshift(stepTo(each))
    found.push(`${meta.node_types[0][nodes[n * nodeSize + node.type!]!]}: ${path.join(' ')}`)
  }
  return found
}

/** Runs in the searched process. Finds the views of buffers that contain a text, in UTF-8 or UTF-16. */
const SEARCH_BUFFERS = `function (texts) {
  // Node allocates small buffers from a common buffer, which retains the bytes of freed ones.
  const common = Buffer.from('x').buffer
  const isWhole = (each) => each.buffer === common && each.byteLength === common.byteLength
  const views = this.filter((each) => ArrayBuffer.isView(each) && each.byteLength > 0 && !isWhole(each))
  return texts.map((text) => {
    const forms = [Buffer.from(text), Buffer.from(text, 'utf16le')]
    return views.filter((view) => {
      const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength)
      return forms.some((form) => bytes.includes(form))
    }).map((view) => view.constructor.name + ' of ' + view.byteLength + ' bytes')
  })
}`

/** @param url the address that the process prints: ws://127.0.0.1:… */
export async function openInspector(url: string): Promise<Inspector> {
  const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 2 ** 30 })
  await once(socket, 'open')
  const waiting = new Map<number, (reply: Reply) => void>()
  let chunks: string[] = []
  let last = 0
  socket.on('message', (data) => {
    const reply = JSON.parse(String(data)) as Reply
    if (reply.method === 'HeapProfiler.addHeapSnapshotChunk') chunks.push(reply.params!.chunk!)
    else if (reply.id !== undefined) waiting.get(reply.id)?.(reply)
  })
  async function send<T>(method: string, params: object = {}): Promise<T> {
    const id = ++last
    const replied = new Promise<Reply>((resolve) => waiting.set(id, resolve))
    socket.send(JSON.stringify({ id, method, params }))
    const { result, error } = await replied
    waiting.delete(id)
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result as T
  }

  async function searchStrings(texts: readonly string[]): Promise<string[][]> {
    chunks = []
    await send('HeapProfiler.takeHeapSnapshot', { reportProgress: false })
    const snapshot = JSON.parse(chunks.join('')) as Snapshot
    chunks = []
    return texts.map((text) => placesOf(text, snapshot))
  }

  async function searchBuffers(texts: readonly string[]): Promise<string[][]> {
    type Remote = { result: { objectId: string } }
    const { result: prototype } = await send<Remote>('Runtime.evaluate', {
      expression: 'Object.getPrototypeOf(Uint8Array.prototype)',
    })
    const { objects } = await send<{ objects: { objectId: string } }>('Runtime.queryObjects', {
      prototypeObjectId: prototype.objectId,
    })
    const { result, exceptionDetails } = await send<{ result: { value: string[][] }; exceptionDetails?: unknown }>(
      'Runtime.callFunctionOn',
      {
        functionDeclaration: SEARCH_BUFFERS,
        objectId: objects.objectId,
        arguments: [{ value: texts }],
        returnByValue: true,
      },
    )
    if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails))
    await send('Runtime.releaseObject', objects)
    return result.value
  }

  return {
    async search(texts) {
      const [buffers, strings] = [await searchBuffers(texts), await searchStrings(texts)]
      const found = texts.map((text, index) => [text, [...strings[index]!, ...buffers[index]!]] as [string, string[]])
      return Object.fromEntries(found.filter(([, places]) => places.length > 0))
    },
    close: () => socket.close(),
  }
}
