package io.pipelane.bench.accelerator;

import io.pipelane.demo.protocol.Tensor;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * One model of a repository and how it is asked.
 *
 * @param batch what its first symbolic dimension becomes
 * @param sequence what its other symbolic dimensions become
 */
public record ModelCase(String name, Path file, int batch, int sequence) {
  private static final long SEED = 1;

  /** Token identifiers that every vocabulary has. */
  private static final int TOKENS = 10_000;

  /** Classes that every classifier tells apart. */
  private static final int CLASSES = 1000;

  /** A model of a repository. */
  public static ModelCase of(Path repository, String name, int batch, int sequence) {
    Path file = repository.resolve(name).resolve("1").resolve("model.onnx");
    return new ModelCase(name, file, batch, sequence);
  }

  /** Its first version. */
  public ModelVersion version() {
    return new ModelVersion(name, 1);
  }

  /** The same model, imported once more with other cuts. */
  public ModelVersion layered() {
    return new ModelVersion(name, 2);
  }

  /** Inputs that are the same in every run: noise, token identifiers, labels, masks of ones. */
  public List<Tensor> inputs(ImportedModel model) {
    return inputs(model.plan().inputs());
  }

  /** The same for the inputs that a model declares. */
  public List<Tensor> inputs(List<TensorSpec> declared) {
    Random random = new Random(SEED);
    List<Tensor> inputs = new ArrayList<>();
    for (TensorSpec spec : declared) {
      inputs.add(input(spec, random));
    }
    return inputs;
  }

  private Tensor input(TensorSpec spec, Random random) {
    long[] shape = spec.shape().toArray();
    long elements = 1;
    for (int d = 0; d < shape.length; d++) {
      if (shape[d] < 0) {
        shape[d] = d == 0 ? batch : sequence;
      }
      elements = Math.multiplyExact(elements, shape[d]);
    }
    int count = Math.toIntExact(elements);
    return switch (spec.type()) {
      case FP32 -> Tensor.of(spec.name(), noise(count, random), shape);
      case INT64 -> Tensor.of(spec.name(), numbers(spec.name(), count, random), shape);
      default ->
          throw new IllegalArgumentException(
              "input %s of %s is %s; inputs are made of %s and %s only"
                  .formatted(spec.name(), name, spec.type(), TensorType.FP32, TensorType.INT64));
    };
  }

  private static float[] noise(int count, Random random) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) random.nextGaussian();
    }
    return values;
  }

  private static long[] numbers(String name, int count, Random random) {
    long[] values = new long[count];
    for (int i = 0; i < count; i++) {
      values[i] = number(name, random);
    }
    return values;
  }

  private static long number(String name, Random random) {
    if (name.contains("mask")) {
      return 1;
    }
    return name.contains("type") ? 0 : random.nextInt(name.equals("label") ? CLASSES : TOKENS);
  }
}
