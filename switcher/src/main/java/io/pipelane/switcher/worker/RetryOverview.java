package io.pipelane.switcher.worker;

/**
 * The figures of runs that lost their worker process, since the start, and of their models.
 *
 * @param done once more, to their end: answered, or refused for what they ask
 * @param lost once more, and given up
 * @param late not done again, as nobody waited for them any more
 * @param quarantined models that are refused at present
 */
public record RetryOverview(long done, long lost, long late, int quarantined) {}
