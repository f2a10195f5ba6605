// Settings of graphql-codegen, which generates typed documents for apollo/program.ts.

import type { CodegenConfig } from '@graphql-codegen/cli'
import { scalars } from '../../src/client/generated.ts'

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
        scalars,
        useTypeImports: true,
        enumsAsTypes: true,
      },
    },
  },
}
export default config
