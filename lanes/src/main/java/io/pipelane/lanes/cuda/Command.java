package io.pipelane.lanes.cuda;

import io.pipelane.lanes.completion.Completion;
import io.pipelane.modelstore.WeightSource;

/** What the copy thread is asked to do, in the order of asking. */
sealed interface Command {
  /** Something else is to lie under a slot: a page's handle, zeroed or not, or nothing (0). */
  record Plan(SlotMappings mappings, int slot, long handle, boolean zeroed) implements Command {}

  /** Weights are to be brought in, into a stretch of a range whose slots are pinned. */
  record Copy(
      WeightSource source,
      long sourceOffset,
      CudaAddressRange range,
      long rangeOffset,
      long bytes,
      CudaEvent event)
      implements Command {}

  /** What is planned for a range's first slots is to be carried out. */
  record SettleRange(SlotMappings mappings, int slots, CudaEvent event) implements Command {}

  /** Copies may pass another device's link too. */
  record Borrow(LentLink link) implements Command {}

  /** Everything planned is to be carried out. */
  record Settle(Completion done) implements Command {}

  /** A range without pages gives its addresses back. */
  record Free(CudaAddressRange range) implements Command {}

  /** The thread is to end. */
  record Stop() implements Command {}
}
