package io.pipelane.lanes.process;

import io.pipelane.lanes.allocation.ExportedSlots;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.modelstore.ImportedModel;

/**
 * A session that workers are to have.
 *
 * @param number no other session has had or will have it
 * @param slots the range that its weights lie in
 * @param model one of those that it runs: what it is built of
 * @param limitBytes what its constants may take in one worker
 * @param lane the lane that it belongs to, or {@link Message#NO_LANE}
 * @param laneBytes what that may ever take
 * @param shapes those that it is run with again and again
 */
record KnownSession(
    long number,
    ExportedSlots slots,
    ImportedModel model,
    long limitBytes,
    int lane,
    long laneBytes,
    RepeatedShapes shapes) {}
