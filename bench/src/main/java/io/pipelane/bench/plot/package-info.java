/** Drawings for the pages of results. */
@NullMarked
package io.pipelane.bench.plot;

import org.jspecify.annotations.NullMarked;
