/** What a load test measured. */
@NullMarked
package io.pipelane.loadgen.result;

import org.jspecify.annotations.NullMarked;
