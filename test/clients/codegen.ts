// Settings of graphql-codegen: typed documents for the program of Apollo Client, and the types of each interface and
// union for its cache.

import type { CodegenConfig } from '@graphql-codegen/cli'

const config: CodegenConfig = {
  schema: '../../schema.graphql',
  documents: 'apollo/*.ts',
  generates: {
    './generated/apollo/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: {
        // A scalar without a type is an error.
        strictScalars: true,
        scalars: { DateTime: 'string', JSON: 'unknown', BigInt: 'number' },
        useTypeImports: true,
        enumsAsTypes: true,
      },
    },
    './generated/recipes/possible-types.ts': { plugins: ['fragment-matcher'], config: { useExplicitTyping: true } },
  },
}
export default config
