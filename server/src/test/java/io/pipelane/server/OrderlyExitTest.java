package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ChildJvm;
import io.pipelane.server.device.OpenParts;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The end of a process. */
@Timeout(120)
class OrderlyExitTest {
  @Test
  void exit_logThatCannotBeClosed_isLeft() throws Exception {
    Process process =
        ChildJvm.program("exec \"$@\"", List.of(), List.of("-Xmx64m"), StuckLog.class, List.of())
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      assertTrue(process.waitFor(60, TimeUnit.SECONDS), "it ends");
      assertEquals(1, process.exitValue());
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  /** A program that is told to stop while it starts, and whose log goes where nobody reads. */
  static final class StuckLog extends Handler {
    private StuckLog() {}

    public static void main(String[] arguments) {
      Logger.getLogger("").addHandler(new StuckLog());
      OrderlyExit _ = OrderlyExit.from(new OpenParts(), Duration.ZERO);
      System.exit(3);
    }

    @Override
    public void publish(LogRecord message) {
      close();
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
      while (true) {
        try {
          new CountDownLatch(1).await();
        } catch (InterruptedException e) {
          // nobody reads
        }
      }
    }
  }
}
