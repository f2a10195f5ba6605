// JSON Merge Patch, RFC 7396. Pure.

type JsonObject = Record<string, unknown>

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Returns the object with the patch applied: a null removes its key, an object is merged into the object that it meets,
 * and every other value replaces the old one. Changes neither argument. The depth of the patch must be limited.
 */
export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  // A Map, because assigning the key __proto__ to an object would change its prototype.
  const merged = new Map(Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    const old = merged.get(key)
    if (value === null) merged.delete(key)
    else merged.set(key, isObject(value) ? mergePatch(isObject(old) ? old : {}, value) : value)
  }
  return Object.fromEntries(merged)
}
