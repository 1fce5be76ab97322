@NullMarked
package io.pipelane.loadgen.zoo.graph;

import org.jspecify.annotations.NullMarked;
