package io.pipelane.bench.model;

import io.pipelane.bench.accelerator.ModelCase;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.runtime.TensorSpec;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;

/**
 * A model and what it is asked, the same in every run.
 *
 * @param name for people
 * @param model as it is registered
 * @param file its version 1, in a folder of the model's name
 * @param inputs of every request, once it is known what the model declares
 */
public record AskedModel(
    String name, String model, Path file, Function<List<TensorSpec>, List<Tensor>> inputs) {

  /** Where its versions and its settings lie. */
  Path folder() {
    return file.resolve("../..").normalize();
  }

  static AskedModel of(BenchCase benchCase) {
    return new AskedModel(
        benchCase.name(), benchCase.model(), benchCase.file(), _ -> benchCase.inputs());
  }

  static AskedModel of(ModelCase modelCase) {
    return new AskedModel(modelCase.name(), modelCase.name(), modelCase.file(), modelCase::inputs);
  }
}
