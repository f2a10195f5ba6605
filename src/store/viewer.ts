// The type of the viewer. Declared in the store because the store and the domain both use it.

/** The actor in whose view a read is made, and its tenant. The transport passes it to every domain function. */
export type Viewer = { tenant: string; actor: string }
