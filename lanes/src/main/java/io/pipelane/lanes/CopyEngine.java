package io.pipelane.lanes;

import io.pipelane.modelstore.WeightSource;

/**
 * A device's engine for copies of weights onto it, which run in the background, one after another.
 */
public interface CopyEngine {
  /**
   * Enqueues a copy of {@code bytes} from a source's {@code sourceOffset} to {@code rangeOffset} of
   * a range whose slots are mapped; returns at once, on any thread. The source must stay open until
   * the event has happened.
   *
   * @return completes when the bytes are there, or with the reason why they are not; a copy that
   *     fails leaves the others alone
   * @throws IndexOutOfBoundsException when the bytes leave the source or the range
   * @throws IllegalStateException when a slot under the bytes has no page
   */
  DeviceEvent copy(
      WeightSource source, long sourceOffset, AddressRange range, long rangeOffset, long bytes);

  /** A copy's first bytes, which its device's own link carries before borrowed ones carry any. */
  default long aloneBytes() {
    return Long.MAX_VALUE;
  }

  /** Bytes that have come out of other devices' pages, see {@link Device#readsPagesOf}. */
  default long peerBytes() {
    return 0;
  }

  /** Bytes that have come in over other devices' links, see {@link Device#borrowLink}. */
  default long borrowedBytes() {
    return 0;
  }

  /**
   * How many bytes from an offset on need perhaps not be copied, as far as is known at once; see
   * {@link #show}.
   *
   * @param bytes how many are wanted
   */
  default long atHand(WeightSource source, long offset, long bytes) {
    return 0;
  }

  /**
   * Has a range hold a source's bytes without a copy, as far as that goes from the beginning; they
   * are there when this returns. Parameters are as of {@link #copy}, which does the same, and
   * copies the rest.
   *
   * @return how many need no copy
   * @throws IndexOutOfBoundsException as of {@link #copy}
   */
  default long show(
      WeightSource source, long sourceOffset, AddressRange range, long rangeOffset, long bytes) {
    return 0;
  }
}
