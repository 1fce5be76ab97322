/** The savings by tensors that stay on the device between an ensemble's steps. */
@NullMarked
package io.pipelane.bench.ensemble;

import org.jspecify.annotations.NullMarked;
