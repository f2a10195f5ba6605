// The viewer that every read takes. Declared here because the store and the domain both use it.

/** The actor whose view a read is made in. The transport determines it; every domain function takes it. */
export type Viewer = { tenant: string; actor: string }
