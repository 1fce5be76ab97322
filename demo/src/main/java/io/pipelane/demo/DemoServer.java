package io.pipelane.demo;

import io.pipelane.config.value.ByteSize;
import io.pipelane.demo.plain.Reference;
import io.pipelane.demo.report.LedgerRow;
import io.pipelane.lanes.process.WorkersOverview;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The server that a demo starts and asks. Used by one thread. */
public interface DemoServer extends AutoCloseable {
  /**
   * Starts serving; models may still be imported when it returns.
   *
   * @param device as {@code device.kind} is written
   * @param memory device memory for weights
   * @param isolation as {@code workers.isolation} is written; null leaves the choice
   * @param httpPort on the loopback address; 0 takes any free one
   * @return the address that it serves at, such as {@code http://127.0.0.1:8000}
   */
  URI start(
      Path repository, String device, @Nullable String isolation, ByteSize memory, int httpPort)
      throws Exception;

  /** What it serves on, as people call it. */
  String device();

  /** What its answers are compared with. */
  Reference reference();

  /**
   * Takes a model's weights off the device, so that the next request finds it cold. No request is
   * under way.
   */
  void evict(String model);

  /** What the server knows of each READY model. */
  List<Weights> weights();

  /** Who holds how much device memory now. */
  List<LedgerRow> ledger();

  /** The processes that models run in; none where they run in the server's own. */
  default WorkersOverview workers() {
    return WorkersOverview.NONE;
  }

  /** Waits until the server is told to stop from outside, by a signal for instance. */
  void awaitStop() throws InterruptedException;

  /** Stops serving; does nothing when it was not started. */
  @Override
  void close();

  /**
   * The weights of a model.
   *
   * @param bytes brought to the device
   * @param inPlaceBytes read where they lie in host memory
   * @param groups the copies that brought them to the device the last time all of them were missing
   */
  record Weights(String model, long bytes, long inPlaceBytes, int groups) {}
}
