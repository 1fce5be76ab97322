package io.pipelane.loadgen.zoo;

import com.google.errorprone.annotations.Immutable;

/** Adds a model's inputs, layers and outputs to an empty graph. */
@Immutable
interface Architecture {
  void build(GraphBuilder graph);
}
