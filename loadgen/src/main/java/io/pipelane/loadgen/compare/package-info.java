/** Comparisons of several servers under the same load, one server in turn after another. */
@NullMarked
package io.pipelane.loadgen.compare;

import org.jspecify.annotations.NullMarked;
