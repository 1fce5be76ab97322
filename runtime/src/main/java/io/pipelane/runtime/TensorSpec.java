package io.pipelane.runtime;

/**
 * A model's declaration of one input or output.
 *
 * @param shape -1 marks dimensions that a request chooses; for outputs the declaration can be wrong
 *     and the run's own shape counts
 */
public record TensorSpec(String name, TensorType type, Shape shape) {}
