// Applies JSON Merge Patches (RFC 7396), and compares and prints JSON values. Pure.

import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { metadata, parse } from './input.ts'

export type JsonObject = Record<string, unknown>

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Returns the object with the patch applied: null removes the key, an object is merged into the object at the same key,
 * and any other value replaces the old one. Changes neither argument. Recursive, so the patch's depth must be limited.
 */
export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  // A Map, because assigning the key __proto__ to an object would change its prototype.
  const merged = new Map(Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    const old = merged.get(key)
    if (value === null) merged.delete(key)
    else merged.set(key, isJsonObject(value) ? mergePatch(isJsonObject(old) ? old : {}, value) : value)
  }
  return Object.fromEntries(merged)
}

/** Returns the stored metadata with the patch merged into it. @throws InvalidInput if the result is too large */
export function patchMetadata(stored: unknown, patch: JsonObject): JsonObject {
  const merged = mergePatch(stored as JsonObject, patch)
  return parse(z.object({ metadataPatch: metadata }), { metadataPatch: merged }).metadataPatch
}

/** Returns a copy of JSON. GraphQL literals have objects without a prototype, which isDeepStrictEqual compares. */
export const plain = (json: unknown): unknown => JSON.parse(JSON.stringify(json))

/** Whether two JSON values are equal. The order of keys does not matter. */
export const isSameJson = (one: unknown, other: unknown): boolean => isDeepStrictEqual(plain(one), plain(other))

/** Returns a JSON value in the canonical form of RFC 8785: no white space, and keys sorted by their UTF-16 units. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`).join()}}`
}
