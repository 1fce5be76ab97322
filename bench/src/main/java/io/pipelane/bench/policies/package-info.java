/** Policies of scheduling under the same load. */
@NullMarked
package io.pipelane.bench.policies;

import org.jspecify.annotations.NullMarked;
