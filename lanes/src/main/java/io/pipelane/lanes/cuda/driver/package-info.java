/**
 * CUDA's driver, as much of it as Pipelane uses: through JCuda, and directly where JCuda lacks a
 * call. Every result is checked; a failed call is a {@link
 * io.pipelane.lanes.cuda.driver.CudaException}.
 *
 * <p>Unless said otherwise a method needs its {@link io.pipelane.lanes.cuda.driver.CudaContext}
 * bound to the calling thread, and an object belongs to one thread at a time.
 */
@NullMarked
package io.pipelane.lanes.cuda.driver;

import org.jspecify.annotations.NullMarked;
