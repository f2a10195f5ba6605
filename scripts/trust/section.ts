// The types of a section of `npm run check:trust`, which runs measurements or tests, and returns rows for the table.

export type Row = {
  /** Name of the measured quantity. */
  name: string
  value: string
  /** The required value, as printed in the table. */
  gate: string
  ok: boolean
}

/** A store to start servers on. `env` returns the variables that name an empty database and its bus. */
export type Store = { name: string; env(): Promise<Record<string, string>> }

export type Context = {
  stores: readonly Store[]
  /** Share of the full load, at most 1. */
  share: number
  log(line: string): void
}

export type Section = {
  name: string
  /** Throws if it cannot run; the table then shows the reason, and the section counts as not ok. */
  run(context: Context): Promise<Row[]>
}
