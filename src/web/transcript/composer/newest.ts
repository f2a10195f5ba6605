// Sends states one after another, and only the newest of those that wait, so that an older state never arrives after a
// newer one.

/** Returns the function that sends a state. @param send its failures are ignored */
export function createSender<State>(send: (state: State) => Promise<unknown>): (state: State) => void {
  let waiting: { state: State } | null = null
  let isSending = false

  async function run(): Promise<void> {
    isSending = true
    while (waiting) {
      const { state } = waiting
      waiting = null
      await send(state).catch(() => {})
    }
    isSending = false
  }
  return (state) => {
    waiting = { state }
    if (!isSending) void run()
  }
}
