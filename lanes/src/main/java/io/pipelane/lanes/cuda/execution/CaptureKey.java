package io.pipelane.lanes.cuda.execution;

/**
 * What a capture is good for: addresses in it are the lane's, the weights', and the one that its
 * variant reads in place at.
 *
 * @param shapes of the request's inputs
 * @param inPlaceAddress in host memory; 0 where nothing is read in place
 */
record CaptureKey(InputShapes shapes, long inPlaceAddress) {}
