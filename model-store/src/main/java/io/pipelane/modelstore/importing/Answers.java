package io.pipelane.modelstore.importing;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.Batching;
import io.pipelane.modelstore.Padding;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.graph.GatedGraph;
import io.pipelane.runtime.graph.GraphTarget;
import io.pipelane.runtime.graph.InPlaceWeight;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A model's answers to made-up inputs, and the comparison of a gated graph's with them.
 *
 * <p>Not every model can be asked: open dimensions have to be guessed, and answers may be random.
 */
final class Answers {
  private static final long[] GUESSES = {16, 32, 48, 2, 1};
  private static final byte GARBAGE = 0x7f;

  private final OrtEnvironment environment;
  private final ImportTarget target;
  private final List<TensorSpec> inputs;
  private final Optional<Known> known;
  private final String reason;

  /**
   * The result of a comparison.
   *
   * @param note for the model's owner
   * @param weightsOnHost weights of a session for a GPU that it wants in ordinary memory
   */
  record Comparison(String note, Set<String> weightsOnHost) {}

  /** A plain session's answer to an open dimension of a given size. */
  private record Known(long dimension, Outputs outputs) {}

  private Answers(
      OrtEnvironment environment,
      ImportTarget target,
      List<TensorSpec> inputs,
      Optional<Known> known,
      String reason) {
    this.environment = environment;
    this.target = target;
    this.inputs = inputs;
    this.known = known;
    this.reason = reason;
  }

  /**
   * Asks a plain session, with one guess after another until it answers. Memory that one guess has
   * too little of may do for another; where none is answered, for that reason, nothing is known of
   * the model.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} and {@link Status#DEVICE_FAILURE}
   */
  static Answers of(OrtEnvironment environment, OrtSession plain, ImportTarget target) {
    List<TensorSpec> inputs = plain.inputs();
    String reason = "";
    Optional<StatusException> noMemory = Optional.empty();
    for (long guess : GUESSES) {
      try (Arena arena = Arena.ofConfined()) {
        MadeUpInputs madeUp = new MadeUpInputs(environment, arena);
        Outputs first = Outputs.of(plain, madeUp.of(inputs, guess), gate -> {});
        Outputs again = Outputs.of(plain, madeUp.of(inputs, guess), gate -> {});
        boolean same = first.difference(again) <= target.tolerance();
        return new Answers(
            environment,
            target,
            inputs,
            same ? Optional.of(new Known(guess, first)) : Optional.empty(),
            same ? "" : "answers differ from run to run");
      } catch (StatusException e) {
        if (MachineFault.isNoMemory(e)) {
          noMemory = Optional.of(e);
        } else {
          MachineFault.rethrow(e);
        }
        reason = String.valueOf(e.getMessage());
      }
    }
    noMemory.ifPresent(MachineFault::rethrow);
    return new Answers(environment, target, inputs, Optional.empty(), reason);
  }

  /** Whether a batch may be padded, asked of the plain session. */
  Padding padding(OrtSession plain) {
    return known
        .map(it -> PaddingCheck.of(environment, plain, it.dimension(), target.tolerance()))
        .orElseGet(() -> Padding.notApplicable("its answers cannot be compared"));
  }

  /** Whether requests may run together, asked of the plain session. */
  Batching batching(OrtSession plain) {
    return known
        .map(it -> BatchingCheck.of(environment, plain, it.dimension(), target.tolerance()))
        .orElseGet(() -> Batching.notApplicable("its answers cannot be compared"));
  }

  /** Whether there are answers to compare with. */
  boolean areKnown() {
    return known.isPresent();
  }

  /**
   * Compares a gated model's answers. On the processor each streamed weight is garbage until its
   * gate is reached; for a GPU ONNX Runtime copies what is bound before it runs, so there all have
   * arrived. What is read in place is there from the beginning.
   *
   * @param weights the file of streamed weights
   * @param inPlace the file of those read in place
   * @param settings of a session that repacks nothing
   * @param memory serves what the session allocates
   * @throws StatusException when they differ, or the model cannot be run
   */
  Comparison compare(
      Path gated,
      Layout layout,
      Path weights,
      Path inPlace,
      SessionSettings settings,
      ImportMemory memory)
      throws IOException {
    try (Arena arena = Arena.ofConfined();
        FileChannel file = FileChannel.open(weights, StandardOpenOption.READ);
        FileChannel tables = FileChannel.open(inPlace, StandardOpenOption.READ)) {
      MemorySegment range = arena.allocate(Math.max(1, layout.byteSize()), GatedGraph.ALIGNMENT);
      try (OrtSession session =
          layout.open(environment, gated, range.address(), settings, memory)) {
        String note =
            known.isEmpty()
                ? "not verified: " + reason
                : compare(session, arena, layout, file, tables, range);
        return new Comparison(note, weightsOnHost(session, layout));
      }
    }
  }

  private Set<String> weightsOnHost(OrtSession session, Layout layout) {
    if (target.graph() == GraphTarget.PROCESSOR) {
      return Set.of();
    }
    Set<String> found = new HashSet<>(session.hostInputs());
    Set<String> bound = new HashSet<>();
    layout.weights().forEach(weight -> bound.add(weight.name()));
    layout.inPlace().forEach(weight -> bound.add(weight.name()));
    found.retainAll(bound);
    return found;
  }

  /** Asks a session whose weights lie in a range, and arrive there from a file. */
  private String compare(
      OrtSession session,
      Arena arena,
      Layout layout,
      FileChannel file,
      FileChannel tables,
      MemorySegment range)
      throws IOException {
    Known expected = known.orElseThrow();
    Map<String, OrtTensor> feeds =
        new MadeUpInputs(environment, arena).of(inputs, expected.dimension());
    for (Plan.StreamedWeight weight : layout.weights()) {
      long address = range.address() + weight.offset();
      feeds.put(
          weight.name(),
          OrtTensor.over(environment, address, weight.byteSize(), weight.type(), weight.shape()));
    }
    MemorySegment table = tables.map(MapMode.READ_ONLY, 0, tables.size(), arena);
    for (InPlaceWeight weight : layout.inPlace()) {
      long address = table.address() + weight.offset();
      feeds.put(
          weight.name(),
          OrtTensor.over(environment, address, weight.byteSize(), weight.type(), weight.shape()));
    }
    List<Integer> reached = new ArrayList<>();
    range.fill(GARBAGE);
    int before = target.graph() == GraphTarget.GPU ? layout.segments().size() : 1;
    for (int segment = 0; segment < before; segment++) {
      arrive(layout, segment, file, range);
    }
    Outputs outputs =
        Outputs.of(
            session,
            feeds,
            gate -> {
              reached.add(gate);
              arrive(layout, gate, file, range);
            });
    double error = expected.outputs().difference(outputs);
    for (int i = 0; i < reached.size(); i++) {
      error = reached.get(i) == i + 1 ? error : Double.POSITIVE_INFINITY;
    }
    if (error > target.tolerance()) {
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
}
