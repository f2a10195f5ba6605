// Encodes arrays in Postgres' binary format, in which pg sends a Buffer (array_recv in src/backend/utils/adt/arrayfuncs.c
// of Postgres). In steps, so that long arrays do not block the event loop. Binary texts need no escaping.

/** Ids of the types of elements. */
const TYPES = { integer: 23, text: 25, jsonb: 3802 } as const
/** Bytes before the elements of an array that is not empty: dimensions, flags, type, length and lower bound. */
const HEADER_BYTES = 20
const SIZE_BYTES = 4
/** The first byte of a jsonb value. */
const JSONB_VERSION = 1
/** Approximate number of bytes that one step writes. */
const STEP_BYTES = 64 * 1024

/** Returns a buffer for an array of this length, with its header. The elements follow at HEADER_BYTES. */
function allocate(type: keyof typeof TYPES, length: number, hasNull: boolean, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + length * SIZE_BYTES + bytes)
  let at = 0
  for (const value of [1, Number(hasNull), TYPES[type], length, 1]) at = buffer.writeInt32BE(value, at)
  return buffer
}

/** Encodes a list that is not empty. Texts of type jsonb must be JSON. */
export function* binaryTexts(
  type: 'text' | 'jsonb',
  values: readonly (string | null)[],
): Generator<void, Buffer<ArrayBuffer>> {
  const prefix = type === 'jsonb' ? 1 : 0
  const sizes: number[] = []
  let [bytes, nextStep] = [0, STEP_BYTES]
  for (const value of values) {
    const size = value === null ? -1 : prefix + Buffer.byteLength(value)
    sizes.push(size)
    bytes += Math.max(0, size)
    if (bytes < nextStep) continue
    nextStep = bytes + STEP_BYTES
    yield
  }
  const buffer = allocate(type, values.length, sizes.includes(-1), bytes)
  let at = HEADER_BYTES
  nextStep = STEP_BYTES
  for (const [index, value] of values.entries()) {
    at = buffer.writeInt32BE(sizes[index]!, at)
    if (value === null) continue
    if (prefix) at = buffer.writeUInt8(JSONB_VERSION, at)
    at += buffer.write(value, at)
    if (at < nextStep) continue
    nextStep = at + STEP_BYTES
    yield
  }
  return buffer as Buffer<ArrayBuffer>
}

/** Encodes the integers of all lists as one array. There must be at least one. */
export function* binaryIntegers(lists: readonly (readonly number[])[]): Generator<void, Buffer<ArrayBuffer>> {
  const length = lists.reduce((sum, list) => sum + list.length, 0)
  const buffer = allocate('integer', length, false, length * SIZE_BYTES)
  let [at, nextStep] = [HEADER_BYTES, STEP_BYTES]
  for (const list of lists) {
    for (const value of list) {
      at = buffer.writeInt32BE(SIZE_BYTES, at)
      at = buffer.writeInt32BE(value, at)
    }
    if (at < nextStep) continue
    nextStep = at + STEP_BYTES
    yield
  }
  return buffer as Buffer<ArrayBuffer>
}
