package io.pipelane.lanes.process.worker;

import io.pipelane.config.Status;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.PlacedTensor;
import io.pipelane.lanes.process.channel.SegmentTimes;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A worker process that pretends to run, and ends by itself when it captures its second run, after
 * the answer, unless its session has been told to make no captures.
 */
public final class DoomedCaptures {
  private static final int CAPTURED_RUN = 2;

  private DoomedCaptures() {}

  /** Runs a worker until the server ends it. */
  public static void main(String[] words) throws IOException {
    AtomicInteger runs = new AtomicInteger();
    AtomicBoolean captures = new AtomicBoolean(true);
    PretendingWorker.run(
        words,
        (end, message) ->
            switch (message) {
              case Message.Run run -> {
                boolean isCaptured = captures.get() && runs.incrementAndGet() == CAPTURED_RUN;
                if (isCaptured) {
                  end.send(ran(run, true));
                  Runtime.getRuntime().halt(7);
                }
                yield ran(run, false);
              }
              case Message.WarmUp _ ->
                  new Message.Failed(Status.UNAVAILABLE, 0, 0, "it does not warm up");
              case Message.Shrink _ -> {
                captures.set(false);
                yield PretendingWorker.answer(end, message);
              }
              case Message.CaptureAgain _ -> {
                captures.set(true);
                yield new Message.Closed();
              }
              default -> PretendingWorker.answer(end, message);
            });
  }

  private static Message ran(Message.Run run, boolean goesOn) {
    PlacedTensor output =
        new PlacedTensor(run.outputs().getFirst(), TensorType.FP32, Shape.of(1), 0, 4);
    return new Message.Ran(0, 0, 0, SegmentTimes.NONE, goesOn, List.of(output));
  }
}
