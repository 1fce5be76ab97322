package io.pipelane.bench.report;

/**
 * One thing that is measured of every case.
 *
 * @param key in JSON, with the unit at its end
 * @param heading in tables, with the unit
 * @param decimals in tables
 */
public record Column(String key, String heading, int decimals) {}
