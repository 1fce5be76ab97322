package io.pipelane.lanes.cuda.execution;

/**
 * The key of a capture, which is good for one lane, the addresses of the weights, and the address
 * that its variant reads in place at.
 *
 * @param shapes of the request's inputs
 * @param inPlaceAddress in host memory; 0 where nothing is read in place
 */
record CaptureKey(InputShapes shapes, long inPlaceAddress) {}
