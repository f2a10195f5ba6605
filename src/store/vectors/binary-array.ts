// Encodes and decodes arrays in Postgres' binary format (array_recv and array_send in
// src/backend/utils/adt/arrayfuncs.c of Postgres). pg sends a Buffer in this format. Encodes in steps, so that long
// arrays do not block the event loop. Binary texts need no escaping.

/** Ids of the types of elements. */
const TYPES = { integer: 23, text: 25, jsonb: 3802 } as const
/** Bytes before the elements of an array that is not empty: dimensions, flags, type, length and lower bound. */
const HEADER_BYTES = 20
/** Bytes of an empty array: dimensions, flags and type. */
const EMPTY_BYTES = 12
/** Offset of the length in the header. */
const LENGTH_AT = 12
/** Bytes of an element's size, which precedes the element. */
const SIZE_BYTES = 4
/** The first byte of a jsonb value. */
const JSONB_VERSION = 1
/** Number of bytes after which an encoder yields. */
const STEP_BYTES = 64 * 1024

/** Returns a buffer for an array of this length, with its header. The elements follow at HEADER_BYTES. */
function allocate(type: keyof typeof TYPES, length: number, hasNull: boolean, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + length * SIZE_BYTES + bytes)
  let at = 0
  for (const value of [1, Number(hasNull), TYPES[type], length, 1]) at = buffer.writeInt32BE(value, at)
  return buffer
}

/** Encodes a list that is not empty. Texts of type jsonb must be JSON. A buffer is a text in UTF-8. */
export function* binaryTexts(
  type: 'text' | 'jsonb',
  values: readonly (string | Buffer | null)[],
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
    at += typeof value === 'string' ? buffer.write(value, at) : value.copy(buffer, at)
    if (at < nextStep) continue
    nextStep = at + STEP_BYTES
    yield
  }
  return buffer as Buffer<ArrayBuffer>
}

/** Encodes the integers of all lists as one array. There must be at least one. Yields only between lists. */
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

/** Returns the number of elements of the array at the offset `at`. */
export const lengthAt = (arrays: Buffer, at: number): number =>
  arrays.readInt32BE(at) === 0 ? 0 : arrays.readInt32BE(at + LENGTH_AT)

/** Returns the size of an array of this length whose elements have `bytes` bytes each. */
export const sizeOfArray = (length: number, bytes: number): number =>
  length === 0 ? EMPTY_BYTES : HEADER_BYTES + length * (SIZE_BYTES + bytes)

/** Returns the offset of an element in an array whose elements have `bytes` bytes each. */
export const offsetOf = (index: number, bytes: number): number =>
  HEADER_BYTES + index * (SIZE_BYTES + bytes) + SIZE_BYTES

/** The origin of Postgres' timestamps, which are in microseconds. */
const EPOCH_MS = Date.UTC(2000, 0, 1)

/** Returns an element of an array of timestamps, in milliseconds since 1970. */
export function timeAt(times: Buffer, index: number): number {
  const at = offsetOf(index, 8)
  const micros = times.readInt32BE(at) * 2 ** 32 + times.readUInt32BE(at + 4)
  return EPOCH_MS + Math.round(micros / 1000)
}
