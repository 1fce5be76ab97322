package io.pipelane.switcher.sequence;

/**
 * The figures of the states that a device keeps for sequences.
 *
 * @param sequences that have begun and not ended
 * @param writtenOutBytes of host memory that is charged for states that are written out
 * @param timesWrittenOut how often one was
 */
public record StatesOverview(int sequences, long writtenOutBytes, long timesWrittenOut) {}
