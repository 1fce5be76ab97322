package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.WorkerArea;
import java.io.IOException;

/** A worker process that has no memory left as soon as it is to run. */
public final class UnfitWorker {
  private UnfitWorker() {}

  /** Runs a worker until that ends it. */
  public static void main(String[] words) throws IOException {
    PretendingWorker.run(
        words,
        (end, message) -> {
          if (message instanceof Message.Run) {
            Runtime.getRuntime().halt(WorkerArea.UNFIT);
          }
          return PretendingWorker.answer(end, message);
        });
  }
}
