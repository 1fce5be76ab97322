@NullMarked
package io.pipelane.bench.grouping;

import org.jspecify.annotations.NullMarked;
