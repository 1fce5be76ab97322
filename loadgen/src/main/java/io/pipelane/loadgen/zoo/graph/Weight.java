package io.pipelane.loadgen.zoo.graph;

import java.util.List;

/**
 * A float tensor of a graph whose values are drawn when the model is written.
 *
 * @param name unique in the graph; together with the seed it decides the values
 * @param shape outermost dimension first
 * @param values what the values are drawn from
 * @param trained whether training would learn it: published parameter counts leave the statistics
 *     of normalisations out
 */
public record Weight(String name, List<Long> shape, Range values, boolean trained) {
  long elements() {
    return shape.stream().reduce(1L, Math::multiplyExact);
  }

  long bytes() {
    return elements() * Float.BYTES;
  }
}
