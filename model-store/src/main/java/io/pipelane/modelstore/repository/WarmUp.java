package io.pipelane.modelstore.repository;

import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * A request that an owner wants run before a version answers others.
 *
 * @param name what its owner calls it
 * @param count how often it is run
 */
public record WarmUp(String name, int count, List<Input> inputs) {
  /** Requests that a model may declare, each with its count. */
  public static final int MOST_RUNS = 1000;

  /** The folder beside the versions that data files lie in. */
  public static final String FOLDER = "warmup";

  public WarmUp {
    inputs = List.copyOf(inputs);
  }

  /** The runs of several. */
  static long runs(List<WarmUp> all) {
    return all.stream().mapToLong(WarmUp::count).sum();
  }

  /** The same with data files elsewhere. */
  WarmUp withFiles(UnaryOperator<Path> place) {
    return new WarmUp(name, count, inputs.stream().map(input -> input.withFile(place)).toList());
  }

  /**
   * The data of one input of the request.
   *
   * @param type as its owner says; empty for the model's
   * @param shape concrete, rows included
   */
  public record Input(String name, Optional<TensorType> type, Shape shape, Data data) {
    private Input withFile(UnaryOperator<Path> place) {
      return data instanceof FromFile(Path file, int times)
          ? new Input(name, type, shape, new FromFile(place.apply(file), times))
          : this;
    }
  }

  /** The source of an input's elements. */
  public sealed interface Data {}

  /** Zeros; empty strings. */
  public record Zeros() implements Data {}

  /** Elements that any model takes: normal random numbers, integers of 0 and 1, some letters. */
  public record MadeUp() implements Data {}

  /**
   * A file's bytes, as in a binary request.
   *
   * @param times how often they follow each other
   */
  public record FromFile(Path file, int times) implements Data {}
}
