/** The matching of two sides. */
@NullMarked
package io.pipelane.cluster.matching;

import org.jspecify.annotations.NullMarked;
