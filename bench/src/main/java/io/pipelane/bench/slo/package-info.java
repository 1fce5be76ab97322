/** Thousands of models with a time by which every answer is due. */
@NullMarked
package io.pipelane.bench.slo;

import org.jspecify.annotations.NullMarked;
