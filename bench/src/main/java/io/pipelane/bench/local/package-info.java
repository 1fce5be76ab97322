/** The ways to have a model run inside this process, side by side. */
@NullMarked
package io.pipelane.bench.local;

import org.jspecify.annotations.NullMarked;
