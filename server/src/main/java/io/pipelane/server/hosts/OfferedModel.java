package io.pipelane.server.hosts;

/**
 * A version that a host answers for.
 *
 * @param keepsState whether its requests depend on those before them
 * @param stallMicros what a run there would wait for weights if it began now
 */
record OfferedModel(String name, long version, boolean keepsState, long stallMicros) {}
