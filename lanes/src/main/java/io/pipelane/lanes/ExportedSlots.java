package io.pipelane.lanes;

/**
 * Where in a device's slot table worker processes look up what lies under a range's slots.
 *
 * @param range a number that no other range of the device has or will have
 * @param offset where its part of the table begins, in bytes
 * @param count slots
 */
public record ExportedSlots(long range, long offset, int count) {}
