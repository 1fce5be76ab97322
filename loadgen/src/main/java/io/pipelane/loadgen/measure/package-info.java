/** The sums of what happens in a run: by model, by window, over time. */
@NullMarked
package io.pipelane.loadgen.measure;

import org.jspecify.annotations.NullMarked;
