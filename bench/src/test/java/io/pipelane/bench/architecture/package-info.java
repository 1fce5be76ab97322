/** The rules of the architecture. */
@NullMarked
package io.pipelane.bench.architecture;

import org.jspecify.annotations.NullMarked;
