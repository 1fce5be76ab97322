/** An HTTP client asks for a model while a background job holds the device. */
@NullMarked
package io.pipelane.bench.preempt;

import org.jspecify.annotations.NullMarked;
