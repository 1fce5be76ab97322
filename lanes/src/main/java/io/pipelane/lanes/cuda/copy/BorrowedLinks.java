package io.pipelane.lanes.cuda.copy;

import io.pipelane.lanes.Releases;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaException;
import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;

/**
 * Other devices' links that a device's copies may pass, and the stream on which everything that
 * came in over them, or over its own, has arrived. Belongs to the copy thread.
 */
public final class BorrowedLinks implements AutoCloseable {
  /*
   * A copy's end must be behind its pieces on all links, and the device's own link must not wait for
   * it. So there is a stream that fetches from the lenders and waits for the own one at each end.
   */

  private static final System.Logger LOG = System.getLogger(BorrowedLinks.class.getName());

  private final Releases releases = new Releases();
  private final CudaStream fetches;
  private final StreamProgress progress;
  private final CudaMark own;
  private final List<LentLink> links = new ArrayList<>();
  private int next;

  public BorrowedLinks(CudaContext context) {
    try (Releases undo = new Releases()) {
      fetches = undo.add(CudaStream.open(context));
      progress = undo.add(new StreamProgress(fetches));
      own = undo.add(CudaMark.untimed(context));
      undo.keep();
    }
    releases.add(progress);
    releases.add(own);
    releases.add(fetches);
  }

  public void add(LentLink link) {
    links.add(link);
  }

  /** Whether a piece may be sent now; allocates nothing, as who waits for it asks in a loop. */
  public boolean anyIdle() {
    for (int i = 0; i < links.size(); i++) {
      if (links.get(i).isIdle()) {
        return true;
      }
    }
    return false;
  }

  /**
   * Sends a piece over the link whose turn it is among those that are idle.
   *
   * @return false when none was, and nothing was enqueued
   */
  public boolean trySend(long host, long device, long bytes) {
    for (int i = 0; i < links.size(); i++) {
      LentLink link = links.get((next + i) % links.size());
      try {
        if (link.trySend(host, device, bytes, fetches)) {
          next = (next + i + 1) % links.size();
          return true;
        }
      } catch (CudaException e) {
        LOG.log(Level.WARNING, "a borrowed link is used no more", e);
        links.remove(link);
        return false;
      }
    }
    return false;
  }

  /** The stream behind what has been sent so far, over the device's own stream as well. */
  public CudaStream joined(CudaStream stream) {
    stream.record(own);
    fetches.waitFor(own);
    return fetches;
  }

  /** How far {@link #joined} has come. */
  public StreamProgress progress() {
    return progress;
  }

  @Override
  public void close() {
    releases.close();
  }
}
