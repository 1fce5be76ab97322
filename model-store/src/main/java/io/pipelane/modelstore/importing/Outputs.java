package io.pipelane.modelstore.importing;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.runtime.GateListener;
import io.pipelane.runtime.IoBinding;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.RelativeError;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The outputs of one run of a session, copied, in their order. */
record Outputs(List<Output> list) {
  /** What all outputs together may take to be compared: several sets of them are kept at a time. */
  private static final ByteSize LIMIT = ByteSize.ofMebibytes(64);

  /** An output's bytes. */
  record Output(TensorType type, Shape shape, MemorySegment data) {
    /** Whether it has so many rows. */
    boolean hasRows(long rows) {
      return shape.rank() > 0 && shape.dimension(0) == rows;
    }

    /** The bytes of one row. */
    MemorySegment row(int index) {
      long bytes = data.byteSize() / shape.dimension(0);
      return data.asSlice(index * bytes, bytes);
    }

    /** The bytes of its first rows. */
    MemorySegment rows(long count) {
      return data.asSlice(0, data.byteSize() / shape.dimension(0) * count);
    }
  }

  Outputs {
    list = List.copyOf(list);
  }

  /**
   * Runs a session.
   *
   * @param feeds inputs by name; they are closed
   * @throws StatusException when it fails, or answers too much to compare
   */
  static Outputs of(OrtSession session, Map<String, OrtTensor> feeds, GateListener listener) {
    List<Output> outputs = new ArrayList<>();
    try (IoBinding binding = session.newBinding()) {
      feeds.forEach(binding::input);
      session.outputs().forEach(output -> binding.output(output.name()));
      binding.run(listener);
      List<OrtTensor> tensors = binding.outputs();
      try {
        checkSize(tensors);
        for (OrtTensor tensor : tensors) {
          MemorySegment copy = MemorySegment.ofArray(new byte[(int) tensor.data().byteSize()]);
          outputs.add(new Output(tensor.type(), tensor.shape(), copy.copyFrom(tensor.data())));
        }
      } finally {
        tensors.forEach(OrtTensor::close);
      }
    } finally {
      feeds.values().forEach(OrtTensor::close);
    }
    return new Outputs(outputs);
  }

  private static void checkSize(List<OrtTensor> outputs) {
    long bytes = outputs.stream().mapToLong(tensor -> tensor.data().byteSize()).sum();
    if (bytes > LIMIT.bytes()) {
      throw new StatusException(
          Status.TOO_LARGE,
          "outputs of %s are more than the %s that are compared"
              .formatted(new ByteSize(bytes), LIMIT));
    }
  }

  /** The largest {@link RelativeError} over the outputs; infinite where one has another size. */
  double difference(Outputs actual) {
    double worst = 0;
    for (int i = 0; i < list.size(); i++) {
      Output expected = list.get(i);
      worst =
          Math.max(
              worst, difference(expected.type(), expected.data(), actual.list().get(i).data()));
    }
    return worst;
  }

  static double difference(TensorType type, MemorySegment expected, MemorySegment actual) {
    return expected.byteSize() == actual.byteSize()
        ? RelativeError.of(type, expected, actual)
        : Double.POSITIVE_INFINITY;
  }
}
