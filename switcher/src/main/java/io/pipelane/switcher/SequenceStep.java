package io.pipelane.switcher;

/**
 * Which sequence a request is a step of, for models that keep state from one request to the next.
 *
 * @param id the client's name for it, among those of one model version
 * @param start whether the state begins anew with this step
 * @param end whether the state goes after it
 */
public record SequenceStep(String id, boolean start, boolean end) {}
