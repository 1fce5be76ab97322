@NullMarked
package io.pipelane.bench.start;

import org.jspecify.annotations.NullMarked;
