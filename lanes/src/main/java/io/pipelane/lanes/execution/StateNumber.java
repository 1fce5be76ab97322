package io.pipelane.lanes.execution;

import java.lang.foreign.MemorySegment;

/**
 * The number of steps that a state has made, written behind the outputs of each step. The copy of
 * the state that is whole is the one that belongs to the number.
 *
 * @param word four bytes of the device's {@link io.pipelane.lanes.DeviceStates}
 * @param number what is written when the run's outputs are there; it is one less until then
 */
public record StateNumber(MemorySegment word, int number) {}
