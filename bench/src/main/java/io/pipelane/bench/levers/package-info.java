/** The worth of each part of switching: everything on, and each lever off in turn. */
@NullMarked
package io.pipelane.bench.levers;

import org.jspecify.annotations.NullMarked;
