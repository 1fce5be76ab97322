package io.pipelane.loadgen.result;

/**
 * The count of one kind of error.
 *
 * @param kind such as {@code HTTP 503} or {@code connection lost}
 * @param firstMessage what the first of them said
 */
public record ErrorCount(String kind, long count, String firstMessage) {}
