import { defineConfig } from 'prisma/config'

// `prisma generate` asks for a schema engine that it never runs, and would download one. Any executable satisfies it.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath

export default defineConfig({ schema: 'prisma/schema.prisma', migrations: { path: 'prisma/migrations' } })
