// Lets tests write rows with different times, which the database stores with a precision of 1 ms.

/**
 * Resolves when times that the database takes are later than all times that it took before the call. The database
 * rounds times, so the clock of the machine has to advance by more than 1 ms.
 */
export async function nextTime(): Promise<void> {
  const until = Date.now() + 2
  while (Date.now() < until) await new Promise((resolve) => setImmediate(resolve))
}
