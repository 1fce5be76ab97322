/** The cost of switching from one model to another by the way in which their processes change. */
@NullMarked
package io.pipelane.bench.workers;

import org.jspecify.annotations.NullMarked;
