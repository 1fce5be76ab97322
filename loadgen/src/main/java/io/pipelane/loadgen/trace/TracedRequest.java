package io.pipelane.loadgen.trace;

/**
 * A line of a trace.
 *
 * @param seconds from the beginning
 * @param batch rows of the request
 */
public record TracedRequest(double seconds, String model, int batch) {
  public TracedRequest {
    if (!(seconds >= 0 && seconds <= 7 * 86_400)) {
      throw new IllegalArgumentException("a trace's times lie between 0 s and a week: " + seconds);
    }
    if (model.isBlank()) {
      throw new IllegalArgumentException("a trace's model has no name");
    }
    if (model.indexOf(',') >= 0 || model.indexOf('\n') >= 0) {
      throw new IllegalArgumentException(
          "names of a trace's models have neither commas nor line breaks: \"" + model + "\"");
    }
    if (batch < 1 || batch > 65_536) {
      throw new IllegalArgumentException("a trace's batches lie between 1 and 65536: " + batch);
    }
  }
}
