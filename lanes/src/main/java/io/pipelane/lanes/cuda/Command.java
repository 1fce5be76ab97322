package io.pipelane.lanes.cuda;

import io.pipelane.lanes.completion.Completion;
import io.pipelane.lanes.cuda.copy.CudaEvent;
import io.pipelane.lanes.cuda.copy.LentLink;
import io.pipelane.modelstore.WeightSource;

/** A command to the copy thread, which carries them out in the order of asking. */
sealed interface Command {
  /**
   * The order that something else is to lie under a slot: a page's handle, zeroed or not, or
   * nothing (0).
   */
  record Plan(SlotMappings mappings, int slot, long handle, boolean zeroed) implements Command {}

  /** The order to bring weights in, into a stretch of a range whose slots are pinned. */
  record Copy(
      WeightSource source,
      long sourceOffset,
      CudaAddressRange range,
      long rangeOffset,
      long bytes,
      CudaEvent event)
      implements Command {}

  /** The order to carry out what is planned for a range's first slots. */
  record SettleRange(SlotMappings mappings, int slots, CudaEvent event) implements Command {}

  /** The permission for copies to pass another device's link, too. */
  record Borrow(LentLink link) implements Command {}

  /** The order to carry out everything planned. */
  record Settle(Completion done) implements Command {}

  /** The order to give back the addresses of a range without pages. */
  record Free(CudaAddressRange range) implements Command {}

  /** The order that the thread is to end. */
  record Stop() implements Command {}
}
