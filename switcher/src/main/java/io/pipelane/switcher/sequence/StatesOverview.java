package io.pipelane.switcher.sequence;

/**
 * The figures of the states that a device keeps for sequences.
 *
 * @param sequences that have begun and not ended
 * @param writtenOutBytes of states that are written out to host memory at present
 * @param timesWrittenOut how often a tensor of a state was
 */
public record StatesOverview(int sequences, long writtenOutBytes, long timesWrittenOut) {}
