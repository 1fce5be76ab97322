/** A model's graph while it is made, its weights by what they are drawn from, and its file. */
@NullMarked
package io.pipelane.loadgen.zoo.graph;

import org.jspecify.annotations.NullMarked;
