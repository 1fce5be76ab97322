package io.pipelane.lanes;

import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.WeightSource;
import java.util.List;

/**
 * The pages of another device as copies to one device read them, over the link between the two and
 * past the host. Safe for any thread.
 */
public interface PeerPages {
  /**
   * Weights that lie in pages there, for copies to the reading device alone.
   *
   * @param pages lent and filled, in the weights' order; they stay so until the source is closed
   * @param bytes in all of them; the last one may be filled in part
   * @param whenClosed called once, when the source is closed
   */
  WeightSource weights(List<Page> pages, long bytes, Runnable whenClosed);
}
