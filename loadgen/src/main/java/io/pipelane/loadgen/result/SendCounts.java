package io.pipelane.loadgen.result;

/**
 * The punctuality with which the measured requests left, in counts.
 *
 * @param sent requests sent
 * @param late sent more than a millisecond after they were meant to, for whatever reason
 * @param lateByGenerator of these, the ones that had a free connection all that time: the generator
 *     itself was too slow
 * @param unsent still waiting for a connection when the test gave up; counted as errors as well
 * @param failedConnects attempts to open a connection that failed while requests were measured; no
 *     request is lost by one, so they are not among the errors
 * @param reconnects connections opened anew, warm-up included
 */
public record SendCounts(
    long sent,
    long late,
    long lateByGenerator,
    long unsent,
    long failedConnects,
    long reconnects) {}
