package io.pipelane.config;

/**
 * The text of a value and where it was written.
 *
 * @param origin e.g. {@code pipelane.yaml line 3}, {@code variable PIPELANE_SERVER_HOST}, {@code
 *     flag --server.host} or {@code default}
 */
record WrittenValue(String text, String origin) {}
