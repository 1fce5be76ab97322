package io.pipelane.bench.density;

import io.pipelane.demo.protocol.Tensor;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.runtime.TensorSpec;
import java.util.List;

/**
 * The model whose variants are asked. They differ in name alone and read their weights from the
 * same host memory; on the device each has pages of its own, as weights of its own would.
 *
 * @param inputs of every request
 */
record Subject(ImportedModel model, WeightSource weights, List<Tensor> inputs) {
  /** A variant, registered beside others. */
  ImportedModel variant(int number) {
    return model.as(version(number));
  }

  ModelVersion version(int number) {
    return new ModelVersion(model.version().model() + "-" + number, 1);
  }

  List<String> outputs() {
    return model.plan().outputs().stream().map(TensorSpec::name).toList();
  }
}
