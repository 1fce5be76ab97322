/** A background job and an inference model that take turns on a device with room for one. */
@NullMarked
package io.pipelane.bench.cycles;

import org.jspecify.annotations.NullMarked;
