// The fields of the root type that an operation selects.

import { parse, type OperationDefinitionNode } from 'graphql'
import { expect, it } from 'vitest'
import { rootFields } from '../../../../../src/graphql/kernel/execution/selection.ts'

it('root fields are found in fragments as well, in the order of the document', () => {
  const document = parse(
    '{ viewer { actor } a: viewer { actor } ... { jobs { id } } ...F } fragment F on Query { jobs { id } ...G } fragment G on Query { embedding { done } }',
  )
  const fields = [...rootFields(document, document.definitions[0] as OperationDefinitionNode)]
  expect(fields.map(({ name }) => name.value)).toEqual(['viewer', 'viewer', 'jobs', 'jobs', 'embedding'])
})
