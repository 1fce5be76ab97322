/** Equal jobs that join and leave, and what each is served. */
@NullMarked
package io.pipelane.bench.fairness;

import org.jspecify.annotations.NullMarked;
