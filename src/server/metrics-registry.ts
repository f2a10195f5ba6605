// Registers the metrics with prom-client. Of its private parts, uses what a registry reads of a metric: prom-client's own
// classes hash the labels on every change.

import { collectDefaultMetrics, Registry, type Metric } from 'prom-client'
import { requireVersion } from '../package-versions.ts'
import { METRICS, type Measured, type Sample } from './metrics.ts'

/**
 * Creates the registry of a process. A metric that cannot be read has no samples, and the failure is logged.
 * @throws WrongPackageVersion
 */
export function createRegistry(measured: Measured): Registry {
  requireVersion('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const { name, type, help, read } of METRICS) {
    const get = async () => {
      let values: Sample[] = []
      try {
        values = await read(measured)
      } catch (err) {
        measured.deps.log.warn({ err, metric: name }, 'a metric could not be read')
      }
      return { name, type, help, values, aggregator: 'sum' }
    }
    registry.registerMetric({ name, get } as unknown as Metric)
  }
  return registry
}
