/**
 * The execution of models on a GPU: gated, and captured as CUDA graphs for the shapes that are
 * asked for often.
 */
@NullMarked
package io.pipelane.lanes.cuda.execution;

import org.jspecify.annotations.NullMarked;
