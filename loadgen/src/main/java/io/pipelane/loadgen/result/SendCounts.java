package io.pipelane.loadgen.result;

/**
 * How punctually the measured requests left.
 *
 * @param sent requests sent
 * @param late sent more than a millisecond after they were meant to, for whatever reason
 * @param lateByGenerator of these, the ones that had a free connection all that time: the generator
 *     itself was too slow
 * @param unsent still waiting for a connection when the test gave up; counted as errors as well
 * @param reconnects connections opened anew, warm-up included
 */
public record SendCounts(
    long sent, long late, long lateByGenerator, long unsent, long reconnects) {}
