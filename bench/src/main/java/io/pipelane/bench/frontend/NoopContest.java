package io.pipelane.bench.frontend;

import io.pipelane.bench.process.RequestForm;
import io.pipelane.bench.process.ServerLoad;
import io.pipelane.bench.process.ServerLoad.Measured;
import io.pipelane.bench.report.Results;
import java.time.Duration;

/** A model that does nothing, beside a bare server that answers the same. */
final class NoopContest implements Contest {
  /** From so many connections on, the issue is throughput and not the way of one request. */
  private static final int MANY_CONNECTIONS = 8;

  private final RequestForm form;
  private final ServerLoad pipelane;
  private final ServerLoad bare;

  NoopContest(RequestForm form, ServerLoad pipelane, ServerLoad bare) {
    this.form = form;
    this.pipelane = pipelane;
    this.bare = bare;
  }

  @Override
  public void warm(int connections, Duration length) throws InterruptedException {
    bare.run(connections, length);
    pipelane.run(connections, length);
  }

  @Override
  public void measure(Results results, int connections, Duration length)
      throws InterruptedException {
    String name = Contest.name("no-op, " + subject(), connections);
    Measured ceiling = bare.run(connections, length);
    Measured served = pipelane.run(connections, length);
    FrontEndColumns.add(results, name, served);
    results.add(name, FrontEndColumns.CEILING_RATE, ceiling.perSecond());
    results.add(name, FrontEndColumns.RELATIVE, served.perSecond() / ceiling.perSecond());
    results.add(name, FrontEndColumns.CEILING_CPU, ceiling.serverCpuMicros());
    results.add(name, FrontEndColumns.CEILING_P99, ceiling.millis(99));
    results.add(name, FrontEndColumns.P99_TO_CEILING, served.millis(99) / ceiling.millis(99));
    if (connections >= MANY_CONNECTIONS) {
      aims(results, name);
    }
  }

  private String subject() {
    return switch (form) {
      case BINARY -> "binary";
      case JSON -> "JSON";
      case GRPC -> "gRPC";
    };
  }

  private void aims(Results results, String name) {
    switch (form) {
      case BINARY -> {
        results.aim(name, FrontEndColumns.RELATIVE, ">= 0.7");
        results.aim(name, FrontEndColumns.CPU, "<= 20");
        results.aim(name, FrontEndColumns.P99_TO_CEILING, "<= 2");
      }
      case JSON -> results.aim(name, FrontEndColumns.RELATIVE, ">= 0.5");
      case GRPC -> results.aim(name, FrontEndColumns.RELATIVE, ">= 0.8");
    }
  }
}
