package io.pipelane.server.warmup;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.repository.WarmUp;
import io.pipelane.modelstore.repository.WarmUp.FromFile;
import io.pipelane.modelstore.repository.WarmUp.Input;
import io.pipelane.modelstore.repository.WarmUp.MadeUp;
import io.pipelane.modelstore.repository.WarmUp.Zeros;
import io.pipelane.runtime.MadeUpNumbers;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.protocol.inference.BinaryTensors;
import io.pipelane.server.protocol.inference.TensorShapes;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** The inputs of a declared request, checked as a client's are. */
final class WarmUpData {
  /** All inputs of a request. */
  static final ByteSize LIMIT = ByteSize.ofMebibytes(256);

  private static final long SEED = 20260101;
  private static final int LETTERS = 8;
  private static final int LENGTH_BYTES = Integer.BYTES;

  private final ServedModel model;
  private final Arena arena;
  private final Random random = new Random(SEED);
  private long bytes;

  /**
   * Nothing yet.
   *
   * @param arena what the elements are allocated from
   */
  WarmUpData(ServedModel model, Arena arena) {
    this.model = model;
    this.arena = arena;
  }

  /**
   * The inputs, in the order of the model's declaration; those of state are no business of anybody.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when they are not the model's
   */
  List<InputTensor> of(WarmUp request) {
    for (Input input : request.inputs()) {
      if (model.inputs().stream().noneMatch(spec -> spec.name().equals(input.name()))) {
        throw invalid("the model has no input \"" + input.name() + "\"");
      }
    }
    List<InputTensor> inputs = new ArrayList<>();
    for (TensorSpec declared : model.inputs()) {
      Input input =
          request.inputs().stream()
              .filter(each -> each.name().equals(declared.name()))
              .findFirst()
              .orElseThrow(() -> invalid("it leaves out input \"" + declared.name() + "\""));
      inputs.add(tensor(declared, input));
    }
    return inputs;
  }

  private InputTensor tensor(TensorSpec declared, Input input) {
    String label = "input \"" + input.name() + "\"";
    TensorType type = input.type().orElse(declared.type());
    TensorShapes.check(model, declared, type, input.shape());
    long elements = input.shape().elements();
    MemorySegment data =
        switch (input.data()) {
          case Zeros _ -> allocate(label, elements, Math.max(type.byteWidth(), LENGTH_BYTES));
          case MadeUp _ when type == TensorType.BYTES -> strings(label, elements);
          case MadeUp _ -> {
            MemorySegment numbers = allocate(label, elements, type.byteWidth());
            MadeUpNumbers.fill(type, numbers, random);
            yield numbers;
          }
          case FromFile file -> read(label, file);
        };
    if (input.data() instanceof Zeros && type != TensorType.BYTES) {
      data = data.asSlice(0, elements * type.byteWidth());
    }
    BinaryTensors.check(declared, "its data have", input.shape(), data);
    return new InputTensor(input.name(), type, input.shape(), data);
  }

  private MemorySegment allocate(String label, long elements, int width) {
    long most = LIMIT.bytes() - bytes;
    if (elements > most / width) {
      throw invalid("with %s it is larger than %s".formatted(label, LIMIT));
    }
    bytes += elements * width;
    return arena.allocate(elements * width, Long.BYTES);
  }

  private MemorySegment strings(String label, long elements) {
    int width = LENGTH_BYTES + LETTERS;
    MemorySegment data = allocate(label, elements, width);
    for (long i = 0; i < elements; i++) {
      data.set(JAVA_INT_UNALIGNED, i * width, LETTERS);
      for (int letter = 0; letter < LETTERS; letter++) {
        long at = i * width + LENGTH_BYTES + letter;
        data.set(JAVA_BYTE, at, (byte) ('a' + random.nextInt(26)));
      }
    }
    return data;
  }

  private MemorySegment read(String label, FromFile from) {
    try {
      long size = Files.size(from.file());
      MemorySegment data = allocate(label, Math.multiplyExact(size, from.times()), 1);
      byte[] content = Files.readAllBytes(from.file());
      if (content.length != size) {
        throw invalid(label + ": its file changes while it is read");
      }
      for (int i = 0; i < from.times(); i++) {
        MemorySegment.copy(content, 0, data, JAVA_BYTE, i * size, content.length);
      }
      return data;
    } catch (ArithmeticException e) {
      throw invalid("with %s it is larger than %s".formatted(label, LIMIT));
    } catch (IOException e) {
      throw invalid(
          "%s: %s/%s cannot be read: %s"
              .formatted(label, WarmUp.FOLDER, from.file().getFileName(), e));
    }
  }

  private static StatusException invalid(String reason) {
    return new StatusException(Status.INVALID_ARGUMENT, reason);
  }
}
