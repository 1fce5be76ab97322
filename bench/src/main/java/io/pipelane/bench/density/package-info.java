/** The number of variants of a model that one device answers for, live beside simulated. */
@NullMarked
package io.pipelane.bench.density;

import org.jspecify.annotations.NullMarked;
