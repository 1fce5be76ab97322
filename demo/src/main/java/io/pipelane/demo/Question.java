package io.pipelane.demo;

import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.protocol.Tensor;
import java.util.List;

/**
 * Something that a demo model is asked, in words and in tensors.
 *
 * @param asked the question, for people
 * @param requests the inputs of each request that it takes; at least one
 * @param reading says what the answers mean
 */
public record Question(
    DemoModel model, String asked, List<List<Tensor>> requests, Reading reading) {
  public Question {
    requests = List.copyOf(requests);
  }

  /** The meaning of a model's answers, in words. */
  @FunctionalInterface
  public interface Reading {
    /**
     * The answer, for people.
     *
     * @param answers the outputs of each request, in the order of the requests
     */
    String inWords(List<List<Tensor>> answers);
  }
}
