/** The cost of bringing a model onto a device: cold beside warm, and beside other ways to do it. */
@NullMarked
package io.pipelane.bench.switching;

import org.jspecify.annotations.NullMarked;
