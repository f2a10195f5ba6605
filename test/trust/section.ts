// A section of `npm run check:trust`: measures or runs something, and returns rows for the table.

export type Row = {
  /** What was measured. */
  name: string
  value: string
  /** What the value must be. */
  gate: string
  ok: boolean
}

/** A store to start servers on. `env` returns the variables that name an empty database and its bus. */
export type Store = { name: string; env(): Promise<Record<string, string>> }

export type Context = {
  stores: readonly Store[]
  /** Share of the full load: 1, or less for a short run. */
  share: number
  log(line: string): void
}

export type Section = {
  name: string
  /** Throws if it cannot run; the table then shows the reason, and the section counts as not ok. */
  run(context: Context): Promise<Row[]>
}
