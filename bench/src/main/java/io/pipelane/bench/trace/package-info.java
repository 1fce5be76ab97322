/** A hundred jobs on one device under several policies. */
@NullMarked
package io.pipelane.bench.trace;

import org.jspecify.annotations.NullMarked;
