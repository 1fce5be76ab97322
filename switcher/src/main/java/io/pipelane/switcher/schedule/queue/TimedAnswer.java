package io.pipelane.switcher.schedule.queue;

import io.pipelane.switcher.ForwardingHandler;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;

/** A handler that notes that a request has been answered, before its caller is told. */
record TimedAnswer(ResultHandler handler, Runnable answered) implements ForwardingHandler {
  @Override
  public void completed(InferenceTimings timings) {
    answered.run();
    handler.completed(timings);
  }
}
