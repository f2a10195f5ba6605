// Each transport refuses the same operations, in the same way.

import { afterEach, describe } from 'vitest'
import { LIMITS, POINTS, overloadContract, pointsContract, transportLimitsContract } from './transport-limits.ts'
import { backends } from '../support/backend.ts'
import { overload, OVERLOAD } from '../support/overload.ts'
import { useServer } from '../support/server.ts'
import { TRANSPORTS } from '../support/transports.ts'

describe.each(backends)('on $name,', (backend) => {
  const server = useServer(backend, LIMITS)
  describe.each(TRANSPORTS)('the transport %s', (transport) => {
    transportLimitsContract(transport, server)
  })
})

describe.each(backends)('on $name, with few points,', (backend) => {
  const server = useServer(backend, {}, { settings: { rateLimitPoints: POINTS } })
  describe.each(TRANSPORTS)('the transport %s', (transport) => {
    pointsContract(transport, server)
  })
})

describe.each(backends)('on $name, with too many requests,', (backend) => {
  const server = useServer(backend, OVERLOAD)
  let stop = async () => {}
  afterEach(() => stop())
  describe.each(TRANSPORTS)('the transport %s', (transport) => {
    overloadContract(transport, server, async () => {
      stop = await overload(server)
    })
  })
})
