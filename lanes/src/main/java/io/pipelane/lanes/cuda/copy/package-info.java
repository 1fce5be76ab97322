/**
 * Copies on streams of a GPU: staging buffers, other GPUs' links, and how far streams have come.
 */
@NullMarked
package io.pipelane.lanes.cuda.copy;

import org.jspecify.annotations.NullMarked;
