/** The same load on several servers in turn. */
@NullMarked
package io.pipelane.loadgen.compare;

import org.jspecify.annotations.NullMarked;
