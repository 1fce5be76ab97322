package io.pipelane.loadgen.request;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The settings by which requests are filled.
 *
 * @param files examples to send instead of made-up values
 * @param shapes concrete shapes by input name, or by {@code model/input}; open dimensions of inputs
 *     not named are 1
 * @param batch size of the first dimension where it is open; 0 leaves it to the shapes
 * @param intMinimum the least of random integers
 * @param intMaximum the greatest of random integers
 * @param binaryOutputs whether outputs are asked for as bytes, over HTTP
 * @param parameters that every request carries
 */
public record InputSettings(
    Values values,
    @Nullable InputFiles files,
    Format format,
    Map<String, List<Long>> shapes,
    int batch,
    long intMinimum,
    long intMaximum,
    Strings strings,
    boolean binaryOutputs,
    List<RequestParameter> parameters,
    long seed) {
  /** The values of the elements. */
  public enum Values {
    ZERO,
    /**
     * Normally distributed numbers, evenly distributed integers; but inputs called a mask are all
     * ones and token types all zeros, as encoders expect.
     */
    RANDOM
  }

  /** The form in which requests are written. */
  public enum Format {
    /** The binary tensor extension. */
    BINARY,
    JSON,
    /** A gRPC message with the tensors as raw contents. */
    GRPC,
    /** DJL Serving's own: the tensors as a NumPy archive, posted to its own route. */
    DJL
  }

  public InputSettings {
    shapes = Map.copyOf(shapes);
    parameters = List.copyOf(parameters);
    if (intMinimum > intMaximum) {
      throw new IllegalArgumentException(
          "int-range must not be empty: " + intMinimum + ".." + intMaximum);
    }
    if (batch < 0 || batch > 65_536) {
      throw new IllegalArgumentException("batch must be between 1 and 65536: " + batch);
    }
  }

  /** Strings as usual, outputs in the form of the inputs, no parameters. */
  public InputSettings(
      Values values,
      @Nullable InputFiles files,
      Format format,
      Map<String, List<Long>> shapes,
      int batch,
      long intMinimum,
      long intMaximum,
      long seed) {
    this(
        values,
        files,
        format,
        shapes,
        batch,
        intMinimum,
        intMaximum,
        Strings.USUAL,
        format == Format.BINARY,
        List.of(),
        seed);
  }
}
