// Frees the memory that a thread used for a short time: during its start, or for a peak of data.

/** Time after which the start of a thread no longer allocates memory, ms. */
const STARTED_MS = 10_000

/**
 * Collects the calling thread's garbage as V8 does when memory is low, which also shrinks the young generation. Takes
 * 0.1 s. V8 itself collects only while the thread allocates. Does nothing if this build of Node has no inspector.
 */
export async function freeMemory(): Promise<void> {
  const inspector = await import('node:inspector/promises').catch(() => null)
  if (!inspector) return
  const session = new inspector.Session()
  session.connect()
  try {
    await session.post('HeapProfiler.collectGarbage')
  } finally {
    session.disconnect()
  }
}

/** Frees memory once, STARTED_MS after the call. */
export function freeMemoryAfterStart(): void {
  setTimeout(() => void freeMemory(), STARTED_MS).unref()
}
