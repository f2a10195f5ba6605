// The type of the viewer. It is declared in the store, because the store and the domain both use it.

/** The actor in whose view a read is made, and its tenant. */
export type Viewer = { tenant: string; actor: string }
