package io.pipelane.server.grpc;

import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import java.util.concurrent.atomic.LongAdder;

/** The count of calls under way, of whatever method. Safe for any thread. */
final class CallCount extends ServerStreamTracer.Factory {
  private final LongAdder calls = new LongAdder();
  private final ServerStreamTracer end =
      new ServerStreamTracer() {
        @Override
        public void streamClosed(Status status) {
          calls.decrement();
        }
      };

  @Override
  public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
    calls.increment();
    return end;
  }

  long underWay() {
    return calls.sum();
  }
}
