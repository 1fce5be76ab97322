@NullMarked
package io.pipelane.bench.stall;

import org.jspecify.annotations.NullMarked;
