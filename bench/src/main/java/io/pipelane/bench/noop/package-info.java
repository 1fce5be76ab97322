/** A model that does nothing, served over HTTP, beside Netty alone. */
@NullMarked
package io.pipelane.bench.noop;

import org.jspecify.annotations.NullMarked;
