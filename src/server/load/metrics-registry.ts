// Registers the metrics with prom-client, whose gauges and counters read the numbers on each scrape. Histograms are our
// own: those of prom-client hash the labels of each observation, which would be work on hot paths. Of prom-client's
// private parts, they use what a registry reads of a metric.

import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import { requireVersion } from '../../runtime/package-versions.ts'
import { METRICS, type Measured, type Sample } from './metrics.ts'

/** A metric whose samples are those that a function returns. The registry prints their `metricName`. */
class OwnHistogram extends Gauge {
  readonly #read: () => Promise<Sample[]>

  constructor(given: { name: string; help: string; registers: Registry[] }, read: () => Promise<Sample[]>) {
    super(given)
    this.#read = read
  }

  override async get() {
    return { ...(await super.get()), type: 'histogram' as never, values: await this.#read() }
  }
}

/**
 * Creates the registry of a process. A metric that cannot be read has no samples, and the failure is logged.
 * @throws WrongPackageVersion
 */
export function createRegistry(measured: Measured): Registry {
  requireVersion('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const { name, type, help, labels: labelNames, read } of METRICS) {
    const samples = async () => {
      try {
        return await read(measured)
      } catch (err) {
        measured.deps.log.warn({ err, metric: name }, 'a metric could not be read')
        return []
      }
    }
    /** Replaces the samples. `reset` adds a sample without labels, which `remove` removes. */
    async function collect(this: Gauge | Counter): Promise<void> {
      const all = await samples()
      this.reset()
      if (labelNames.length === 0) this.remove()
      for (const { labels, value } of all) this.inc(labels, value)
    }
    const given = { name, help, registers: [registry] }
    if (type === 'histogram') new OwnHistogram(given, samples)
    else new { counter: Counter, gauge: Gauge }[type]({ ...given, labelNames, collect })
  }
  return registry
}
