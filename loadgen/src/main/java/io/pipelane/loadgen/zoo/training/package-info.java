/** Training steps of the zoo's models: losses, gradients, and what the weights change by. */
@NullMarked
package io.pipelane.loadgen.zoo.training;

import org.jspecify.annotations.NullMarked;
