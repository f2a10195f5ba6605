// Storage of the browser. A browser may forbid it: nothing is stored then.

export const local = () => localStorage
export const ofTab = () => sessionStorage

/** Reads a value of a storage; null if there is none. */
export const readFrom = (storage: () => Storage, key: string): string | null => {
  try {
    return storage().getItem(key)
  } catch {
    return null
  }
}

/** Stores a value, or removes it if it is null. */
export const writeTo = (storage: () => Storage, key: string, value: string | null): void => {
  try {
    if (value === null) storage().removeItem(key)
    else storage().setItem(key, value)
  } catch {
    // The value is lost when the page is closed.
  }
}

/** Returns the keys of a storage that begin with the prefix. */
export const keysIn = (storage: () => Storage, prefix: string): string[] => {
  try {
    return Object.keys(storage()).filter((key) => key.startsWith(prefix))
  } catch {
    return []
  }
}
