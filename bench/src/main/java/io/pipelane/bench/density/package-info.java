/** How many variants of a model one device answers for, live beside simulated. */
@NullMarked
package io.pipelane.bench.density;

import org.jspecify.annotations.NullMarked;
