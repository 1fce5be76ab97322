package io.pipelane.switcher.schedule.queue;

import io.pipelane.modelstore.ModelVersion;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** The counters of what becomes of requests before they run. Safe for any thread. */
final class QueueCounters {
  private final LongAdder late = new LongAdder();
  private final LongAdder full = new LongAdder();
  private final LongAdder batches = new LongAdder();
  private final LongAdder batched = new LongAdder();
  private final LongAdder failedBatches = new LongAdder();

  /** A request was refused because it could not be answered in time. */
  void late() {
    late.increment();
  }

  /** A request was refused because too much waited. */
  void full() {
    full.increment();
  }

  /** Requests run as one. */
  void batch(int requests) {
    batches.increment();
    batched.add(requests);
  }

  /** Such a run has failed. */
  void batchFailed() {
    failedBatches.increment();
  }

  QueueOverview overview(int requests, long bytes, Map<ModelVersion, Integer> byModel) {
    return new QueueOverview(
        requests,
        bytes,
        byModel,
        late.sum(),
        full.sum(),
        batches.sum(),
        batched.sum(),
        failedBatches.sum());
  }
}
