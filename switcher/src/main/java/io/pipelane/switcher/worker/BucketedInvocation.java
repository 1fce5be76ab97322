package io.pipelane.switcher.worker;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request whose batch is filled up to a bucket by repeating its last row, so that one capture
 * serves many batches; its answers are cut to its own rows. Belongs to the run's thread.
 */
final class BucketedInvocation implements Invocation, AutoCloseable {
  private static final long ALIGNMENT = 64;

  private record Cut(MemorySegment filled, MemorySegment wanted) {}

  private final Invocation request;
  private final long rows;
  private final long bucket;
  private final Arena arena = Arena.ofConfined();
  private final List<InputTensor> inputs;
  private final List<Cut> cuts = new ArrayList<>();
  private boolean lacksRows;

  private BucketedInvocation(Invocation request, long rows, long bucket) {
    this.request = request;
    this.rows = rows;
    this.bucket = bucket;
    this.inputs = request.inputs().stream().map(this::filled).toList();
  }

  /**
   * Runs a request, filled up where {@link #of} does so; as it came, too, where an output turns out
   * not to have a row for each.
   *
   * @param run of the one or the other
   * @return rows that nobody had asked for
   */
  static long run(Invocation request, ImportedModel model, Consumer<Invocation> run) {
    try (@Nullable BucketedInvocation filled = of(request, model).orElse(null)) {
      if (filled != null && filled.isServed(run)) {
        return filled.bucket - filled.rows;
      }
    }
    run.accept(request);
    return 0;
  }

  private boolean isServed(Consumer<Invocation> run) {
    try {
      run.accept(this);
      cut();
      return true;
    } catch (StatusException e) {
      if (!lacksRows) {
        throw e;
      }
      return false;
    }
  }

  /**
   * Fills a request up, where the model has a larger bucket, its rows have no effect on each other
   * (import has found out), and its tensors have rows of a fixed size and lie on the host.
   */
  static Optional<BucketedInvocation> of(Invocation request, ImportedModel model) {
    if (model.buckets().isEmpty()
        || request.inputs().stream().anyMatch(InputTensor::onDevice)
        || !model.plan().batchPadding().harmless()
        || model.plan().inputs().stream().anyMatch(BucketedInvocation::isString)
        || model.plan().outputs().stream().anyMatch(BucketedInvocation::isString)) {
      return Optional.empty();
    }
    List<Long> batches =
        request.inputs().stream().map(input -> input.shape().dimension(0)).distinct().toList();
    long rows = batches.size() == 1 ? batches.getFirst() : 0;
    if (rows < 1) {
      return Optional.empty();
    }
    return model.buckets().stream()
        .filter(bucket -> bucket >= rows)
        .findFirst()
        .filter(bucket -> bucket > rows)
        .map(bucket -> new BucketedInvocation(request, rows, bucket));
  }

  private static boolean isString(TensorSpec spec) {
    return spec.type() == TensorType.BYTES;
  }

  private InputTensor filled(InputTensor input) {
    MemorySegment data = input.data();
    long rowBytes = data.byteSize() / rows;
    MemorySegment all = arena.allocate(rowBytes * bucket, ALIGNMENT);
    all.asSlice(0, data.byteSize()).copyFrom(data);
    MemorySegment last = data.asSlice(data.byteSize() - rowBytes, rowBytes);
    for (long row = rows; row < bucket; row++) {
      all.asSlice(row * rowBytes, rowBytes).copyFrom(last);
    }
    return new InputTensor(input.name(), input.type(), withRows(input.shape(), bucket), all);
  }

  @Override
  public List<InputTensor> inputs() {
    return inputs;
  }

  @Override
  public List<String> outputs() {
    return request.outputs();
  }

  @Override
  public String owner() {
    return request.owner();
  }

  @Override
  public Priority priority() {
    return request.priority();
  }

  @Override
  public long patienceNanos() {
    return request.patienceNanos();
  }

  /**
   * An output's place, cut to the request's rows.
   *
   * @throws StatusException {@link Status#INTERNAL} for one that has not a row for each; how many
   *     there are may follow from values, and import's were others
   */
  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    if (shape.rank() == 0 || shape.dimension(0) != bucket) {
      lacksRows = true;
      throw new StatusException(
          Status.INTERNAL,
          "output \"%s\" of %d rows, filled up to %d, is %s".formatted(name, rows, bucket, shape));
    }
    long wantedBytes = byteSize / bucket * rows;
    MemorySegment filled = arena.allocate(byteSize, ALIGNMENT);
    cuts.add(new Cut(filled, request.placeOfCut(name, type, withRows(shape, rows), wantedBytes)));
    return filled;
  }

  @Override
  public void placed() {
    cut();
    request.placed();
  }

  /** Writes the request's own rows to where they are wanted; the run is over. */
  void cut() {
    cuts.forEach(cut -> cut.wanted.copyFrom(cut.filled.asSlice(0, cut.wanted.byteSize())));
    cuts.clear();
  }

  private static Shape withRows(Shape shape, long rows) {
    long[] dimensions = shape.toArray();
    dimensions[0] = rows;
    return Shape.of(dimensions);
  }

  @Override
  public void close() {
    arena.close();
  }
}
