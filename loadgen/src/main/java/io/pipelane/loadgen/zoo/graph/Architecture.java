package io.pipelane.loadgen.zoo.graph;

import com.google.errorprone.annotations.Immutable;

/** The architecture of a model: adds its inputs, layers and outputs to an empty graph. */
@Immutable
public interface Architecture {
  void build(GraphBuilder graph);
}
