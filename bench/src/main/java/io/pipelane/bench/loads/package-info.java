/** The effect on a resident model of others that load. */
@NullMarked
package io.pipelane.bench.loads;

import org.jspecify.annotations.NullMarked;
