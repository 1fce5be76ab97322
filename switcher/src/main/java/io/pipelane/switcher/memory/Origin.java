package io.pipelane.switcher.memory;

import io.pipelane.modelstore.WeightSource;
import io.pipelane.switcher.memory.pages.Arrival;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The source of one transfer's bytes: another device's pages as far as those go, the host behind
 * that.
 *
 * @param peer null where no other device has more than is here
 * @param host null where the other device has all that is wanted
 */
record Origin(@Nullable WeightSource peer, @Nullable WeightSource host) implements AutoCloseable {
  /** What to copy bytes from that end here. */
  WeightSource upTo(long end) {
    if (peer != null && end <= peer.byteSize()) {
      return peer;
    }
    return Objects.requireNonNull(host, "more is wanted than was said");
  }

  /** Gives the other device's pages back once all that comes out of them has arrived, or failed. */
  void closePeerAfter(List<Arrival> arrivals) {
    if (peer != null) {
      Arrival.whenAllDone(
          arrivals.stream().filter(arrival -> arrival.end() <= peer.byteSize()).toList(),
          peer::close);
    }
  }

  @Override
  public void close() {
    if (peer != null) {
      peer.close();
    }
    if (host != null) {
      host.close();
    }
  }
}
