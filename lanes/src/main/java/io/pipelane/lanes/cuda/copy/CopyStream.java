package io.pipelane.lanes.cuda.copy;

import io.pipelane.lanes.cuda.driver.CudaStream;

/**
 * The stream that a device's weights come in on, and what belongs to it.
 *
 * @param staging for weights that the device cannot read where they are
 * @param marks for the ends of copies
 * @param progress how far the stream has come
 * @param prompt the same for the copy thread
 */
public record CopyStream(
    CudaStream stream,
    StagingBuffers staging,
    MarkPool marks,
    StreamProgress progress,
    Progress prompt) {}
