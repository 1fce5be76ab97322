/** A model served over HTTP beside the same model run in the process. */
@NullMarked
package io.pipelane.bench.http;

import org.jspecify.annotations.NullMarked;
