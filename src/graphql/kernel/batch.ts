// Batches the fields of many parents into one read: the keys that the executor requests on one level with the same
// arguments are loaded together, in the view of the operation. Nothing is cached beyond its batch: the next mutation of
// a document, or the next event of a subscription, reads again.

import DataLoader from 'dataloader'
import type { Deps } from '../../domain/deps.ts'
import type { Viewer } from '../../domain/kernel/view.ts'
import type { RequestContext } from './request.ts'

/** Loads the value of one key; keys that are requested together are loaded together. */
export type Load<Key, Args, Value> = (context: RequestContext, key: Key, args: Args) => Promise<Value>

/** Batches a function that returns one value for each key, in the order of the keys. */
export function inOrder<Key, Args, Value>(
  name: string,
  load: (deps: Deps, viewer: Viewer, keys: readonly Key[], args: Args) => Promise<readonly Value[]>,
  keyOf: (key: Key) => string,
): Load<Key, Args, Value> {
  return ({ reading, viewer, loaders, work }, key, args) => {
    const group = args === undefined ? name : `${name} ${JSON.stringify(args)}`
    let loader = loaders.get(group) as DataLoader<Key, Value, string> | undefined
    if (!loader) {
      const created: DataLoader<Key, Value, string> = new DataLoader<Key, Value, string>(
        async (keys) => {
          created.clearAll()
          return work.read(() => load(reading, viewer, keys, args))
        },
        { cacheKeyFn: keyOf },
      )
      loaders.set(group, (loader = created))
    }
    return loader.load(key).then((value) => work.pace(value))
  }
}

/** Batches a function that returns a Map; an id without an entry loads as `missing`. */
export const byId = <Args, Value, Missing>(
  name: string,
  load: (deps: Deps, viewer: Viewer, ids: readonly string[], args: Args) => Promise<ReadonlyMap<string, Value>>,
  missing: Missing,
): Load<string, Args, Value | Missing> =>
  inOrder<string, Args, Value | Missing>(
    name,
    async (deps, viewer, ids, args) => {
      const values = await load(deps, viewer, ids, args)
      return ids.map((id) => values.get(id) ?? missing)
    },
    (id) => id,
  )

type LoadById<Value> = (context: RequestContext, id: string) => Promise<Value>
/** Removes the parameter `args` of a load that takes no arguments. */
export const withoutArgs =
  <Value>(load: Load<string, undefined, Value>): LoadById<Value> =>
  (context, id) =>
    load(context, id, undefined)
