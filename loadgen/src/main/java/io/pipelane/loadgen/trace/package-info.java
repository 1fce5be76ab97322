/** Traces of requests: their file form, and made-up ones. */
@NullMarked
package io.pipelane.loadgen.trace;

import org.jspecify.annotations.NullMarked;
