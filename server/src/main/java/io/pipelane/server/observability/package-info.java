/** Observability: what is traced, and what is logged. */
@NullMarked
package io.pipelane.server.observability;

import org.jspecify.annotations.NullMarked;
