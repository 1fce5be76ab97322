package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.execution.tensor.InputShapes;

/**
 * The key of a capture in its session: the shapes, and the address that its variant reads in place
 * at. The other addresses in a capture are the lane's and the weights'.
 *
 * @param shapes of the request's inputs
 * @param inPlaceAddress in host memory, or of a copy on the device; 0 where nothing is read in
 *     place
 */
record CaptureKey(InputShapes shapes, long inPlaceAddress) {}
