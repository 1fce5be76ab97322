/** The server's counters in Prometheus' text format. */
@NullMarked
package io.pipelane.server.metrics;

import org.jspecify.annotations.NullMarked;
