/** Tensors and inference requests over the Open Inference Protocol. */
@NullMarked
package io.pipelane.demo.protocol;

import org.jspecify.annotations.NullMarked;
