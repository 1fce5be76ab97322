/** The results of a load test. */
@NullMarked
package io.pipelane.loadgen.result;

import org.jspecify.annotations.NullMarked;
