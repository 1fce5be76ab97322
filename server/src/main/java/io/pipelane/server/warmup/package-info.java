/** Requests that owners declare, run before a version is READY. */
@NullMarked
package io.pipelane.server.warmup;

import org.jspecify.annotations.NullMarked;
