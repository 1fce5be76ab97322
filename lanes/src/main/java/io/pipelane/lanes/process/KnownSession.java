package io.pipelane.lanes.process;

import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.SharedLane;
import io.pipelane.lanes.process.channel.LaneMemory;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.modelstore.ImportedModel;
import org.jspecify.annotations.Nullable;

/**
 * A session that workers are to have.
 *
 * @param number no other session has had or will have it
 * @param slots the range that its weights lie in
 * @param model one of those that it runs: what it is built of
 * @param limitBytes what its constants may take in one worker
 * @param home the lane that it belongs to, if it does to one
 * @param shapes those that it is run with again and again
 */
record KnownSession(
    long number,
    ExportedSlots slots,
    ImportedModel model,
    long limitBytes,
    @Nullable SharedLane home,
    RepeatedShapes shapes) {

  /** The number of the lane that it belongs to, or {@link Message#NO_LANE}. */
  int lane() {
    return home == null ? Message.NO_LANE : home.host().lane();
  }

  /** What that may ever take. */
  long laneBytes() {
    return home == null ? 0 : home.maximumBytes();
  }

  /** What a worker will open that lane's host memory by, or {@link LaneMemory#NOT_OPENED}. */
  int region(WorkerProcess worker) {
    return home == null
        ? LaneMemory.NOT_OPENED
        : home.host().prepareFor(worker.laneUser(), worker::isGone).orElse(LaneMemory.NOT_OPENED);
  }
}
