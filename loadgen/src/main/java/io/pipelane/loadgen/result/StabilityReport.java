package io.pipelane.loadgen.result;

/**
 * The end of a measurement of several windows.
 *
 * @param stable whether the last three windows agreed
 * @param windows that were measured; the figures are those of the last three
 */
public record StabilityReport(boolean stable, int windows) {}
