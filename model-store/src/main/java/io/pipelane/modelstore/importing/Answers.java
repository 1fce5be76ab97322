package io.pipelane.modelstore.importing;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.IoBinding;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A model's answers to made-up inputs, and the comparison of a gated graph's with them.
 *
 * <p>Not every model can be asked: open dimensions have to be guessed, and answers may be random.
 */
final class Answers {
  private static final long[] GUESSES = {16, 32, 48, 2, 1};
  private static final double TOLERANCE = 1e-5;
  private static final byte GARBAGE = 0x7f;

  /** What all outputs together may take to be compared: several sets of them are kept at a time. */
  private static final ByteSize OUTPUT_LIMIT = ByteSize.ofMebibytes(64);

  private final OrtEnvironment environment;
  private final List<TensorSpec> inputs;
  private final Optional<Known> known;
  private final String reason;

  /** What a plain session answered to an open dimension of a given size. */
  private record Known(long dimension, List<Output> outputs) {}

  /** An output's bytes. */
  private record Output(TensorType type, MemorySegment data) {}

  private Answers(
      OrtEnvironment environment, List<TensorSpec> inputs, Optional<Known> known, String reason) {
    this.environment = environment;
    this.inputs = inputs;
    this.known = known;
    this.reason = reason;
  }

  /** Asks a plain session, with one guess after another until it answers. */
  static Answers of(OrtEnvironment environment, OrtSession plain) {
    List<TensorSpec> inputs = plain.inputs();
    String reason = "";
    for (long guess : GUESSES) {
      try (Arena arena = Arena.ofConfined()) {
        MadeUpInputs madeUp = new MadeUpInputs(environment, arena);
        List<Output> first = run(plain, madeUp.of(inputs, guess), gate -> {});
        List<Output> again = run(plain, madeUp.of(inputs, guess), gate -> {});
        return difference(first, again) <= TOLERANCE
            ? new Answers(environment, inputs, Optional.of(new Known(guess, first)), "")
            : new Answers(environment, inputs, Optional.empty(), "answers differ from run to run");
      } catch (StatusException e) {
        reason = String.valueOf(e.getMessage());
      }
    }
    return new Answers(environment, inputs, Optional.empty(), reason);
  }

  /** Whether there are answers to compare with. */
  boolean areKnown() {
    return known.isPresent();
  }

  /**
   * Compares a gated model's answers, each weight being garbage until its gate is reached.
   *
   * @param memory serves what the session allocates
   * @return what is to be noted
   * @throws StatusException when they differ, or the model cannot be run
   */
  String compare(Path gated, Layout layout, Path weights, ImportMemory memory) throws IOException {
    try (Arena arena = Arena.ofConfined();
        FileChannel file = FileChannel.open(weights, StandardOpenOption.READ)) {
      MemorySegment range = arena.allocate(Math.max(64, layout.byteSize()), 64);
      try (OrtSession session = layout.open(environment, memory, gated, range.address())) {
        return known.isEmpty()
            ? "not verified: " + reason
            : compare(session, arena, layout, file, range);
      }
    }
  }

  /** Asks a session whose weights lie in a range, and arrive there from a file. */
  private String compare(
      OrtSession session, Arena arena, Layout layout, FileChannel file, MemorySegment range) {
    Known expected = known.orElseThrow();
    Map<String, OrtTensor> feeds =
        new MadeUpInputs(environment, arena).of(inputs, expected.dimension());
    for (Plan.StreamedWeight weight : layout.weights()) {
      long address = range.address() + weight.offset();
      feeds.put(
          weight.name(),
          OrtTensor.over(environment, address, weight.byteSize(), weight.type(), weight.shape()));
    }
    List<Integer> reached = new ArrayList<>();
    range.fill(GARBAGE);
    arrive(layout, 0, file, range);
    List<Output> outputs =
        run(
            session,
            feeds,
            gate -> {
              reached.add(gate);
              arrive(layout, gate, file, range);
            });
    double error = difference(expected.outputs(), outputs);
    for (int i = 0; i < reached.size(); i++) {
      error = reached.get(i) == i + 1 ? error : Double.POSITIVE_INFINITY;
    }
    if (error > TOLERANCE) {
      throw new StatusException(
          Status.INTERNAL, "gated answers differ from plain ones by " + error);
    }
    return "verified: relative error %.1e with open dimensions %d"
        .formatted(error, expected.dimension());
  }

  private static void arrive(Layout layout, int segment, FileChannel file, MemorySegment memory) {
    Plan.Segment arriving = layout.segments().get(segment);
    long end = arriving.offset() + arriving.byteSize();
    try {
      for (long at = arriving.offset(); at < end; ) {
        long bytes = Math.min(1 << 26, end - at);
        int count = file.read(memory.asSlice(at, bytes).asByteBuffer(), at);
        if (count <= 0) {
          throw new IOException("the weights file ends at " + at);
        }
        at += count;
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<Output> run(
      OrtSession session, Map<String, OrtTensor> feeds, io.pipelane.runtime.GateListener listener) {
    Map<String, OrtTensor> bound = new LinkedHashMap<>(feeds);
    List<Output> outputs = new ArrayList<>();
    try (IoBinding binding = session.newBinding()) {
      bound.forEach(binding::input);
      session.outputs().forEach(output -> binding.output(output.name()));
      binding.run(listener);
      List<OrtTensor> tensors = binding.outputs();
      try {
        checkSize(tensors);
        for (OrtTensor tensor : tensors) {
          MemorySegment copy = MemorySegment.ofArray(new byte[(int) tensor.data().byteSize()]);
          outputs.add(new Output(tensor.type(), copy.copyFrom(tensor.data())));
        }
      } finally {
        tensors.forEach(OrtTensor::close);
      }
    } finally {
      bound.values().forEach(OrtTensor::close);
    }
    return outputs;
  }

  private static void checkSize(List<OrtTensor> outputs) {
    long bytes = outputs.stream().mapToLong(tensor -> tensor.data().byteSize()).sum();
    if (bytes > OUTPUT_LIMIT.bytes()) {
      throw new StatusException(
          Status.TOO_LARGE,
          "outputs of %s are more than the %s that are compared"
              .formatted(new ByteSize(bytes), OUTPUT_LIMIT));
    }
  }

  /** 0 when all bytes are equal, else the largest relative error over the outputs. */
  private static double difference(List<Output> expected, List<Output> actual) {
    double worst = 0;
    for (int i = 0; i < expected.size(); i++) {
      MemorySegment a = expected.get(i).data();
      MemorySegment b = actual.get(i).data();
      if (a.mismatch(b) >= 0) {
        boolean comparable = a.byteSize() == b.byteSize();
        worst =
            Math.max(
                worst,
                comparable
                    ? RelativeError.of(expected.get(i).type(), a, b)
                    : Double.POSITIVE_INFINITY);
      }
    }
    return worst;
  }
}
