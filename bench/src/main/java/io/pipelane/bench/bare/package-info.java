/** Servers that do nothing but answer the same bytes: what others are measured beside. */
@NullMarked
package io.pipelane.bench.bare;

import org.jspecify.annotations.NullMarked;
