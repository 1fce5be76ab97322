package io.pipelane.demo;

import io.pipelane.demo.protocol.InferenceClient;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.demo.report.LossReport;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.WorkersOverview;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * The demonstration of a lost worker: ends the process that a server's models run in while one of
 * them is asked.
 */
final class WorkerLoss {
  private static final int REQUESTS = 30;
  private static final int KILLED_AT = 10;
  private static final long STANDBY_LIMIT_NANOS = 60_000_000_000L;
  private static final long WARM_UP_NANOS = 10_000_000_000L;
  private static final long POLL_MILLIS = 20;

  private final DemoServer server;
  private final InferenceClient client;
  private final LongSupplier nanoClock;

  WorkerLoss(DemoServer server, InferenceClient client, LongSupplier nanoClock) {
    this.server = server;
    this.client = client;
    this.nanoClock = nanoClock;
  }

  /** Does so, once another process is ready to take over; nothing where there are no processes. */
  Optional<LossReport> demonstrate(Question question) throws IOException, InterruptedException {
    if (server.workers().workers().isEmpty()) {
      return Optional.empty();
    }
    WorkersOverview.Entry active = awaitStandby();
    String model = question.model().modelName();
    List<Tensor> request = question.requests().getFirst();
    List<Tensor> expected = client.infer(model, request);
    List<Double> millis = new ArrayList<>();
    int right = 0;
    for (int i = 0; i < REQUESTS; i++) {
      long begin = nanoClock.getAsLong();
      if (i == KILLED_AT) {
        ProcessHandle.of(active.pid()).ifPresent(ProcessHandle::destroyForcibly);
      }
      right += isSame(client.infer(model, request), expected) ? 1 : 0;
      millis.add((nanoClock.getAsLong() - begin) / 1e6);
    }
    Collections.sort(millis);
    return Optional.of(
        new LossReport(
            model,
            active.pid(),
            REQUESTS,
            right,
            millis.get(REQUESTS / 2),
            millis.getLast(),
            server.workers().lastPauseNanos() / 1e6));
  }

  private static boolean isSame(List<Tensor> answer, List<Tensor> expected) {
    boolean same = answer.size() == expected.size();
    for (int i = 0; same && i < answer.size(); i++) {
      same = answer.get(i).data().equals(expected.get(i).data());
    }
    return same;
  }

  /**
   * Waits until one that stands by has every session of the active one, and for a while until it
   * has run them, and tells the active one.
   */
  private WorkersOverview.Entry awaitStandby() throws InterruptedException, IOException {
    long begin = nanoClock.getAsLong();
    while (nanoClock.getAsLong() - begin < STANDBY_LIMIT_NANOS) {
      boolean late = nanoClock.getAsLong() - begin > WARM_UP_NANOS;
      Optional<WorkersOverview.Entry> active = in(WorkerState.ACTIVE);
      Optional<WorkersOverview.Entry> standby = in(WorkerState.STANDBY);
      if (active.isPresent()
          && standby.isPresent()
          && standby.get().sessions() >= active.get().sessions()
          && (late || standby.get().warmedUp() >= standby.get().sessions())) {
        return active.get();
      }
      Thread.sleep(POLL_MILLIS);
    }
    throw new IOException("no worker process was ready to take over: " + server.workers());
  }

  private Optional<WorkersOverview.Entry> in(WorkerState state) {
    return server.workers().workers().stream()
        .filter(worker -> worker.state() == state)
        .findFirst();
  }
}
