package io.pipelane.switcher.schedule.queue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.Deadline;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.RunPlace;
import io.pipelane.switcher.kept.Keeper;
import io.pipelane.switcher.kept.KeptTensor;
import io.pipelane.switcher.schedule.estimate.RunKey;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Requests of one key that run as one: their rows behind each other, in the order in which the
 * requests came, and the answers cut apart again. When the run fails each of them runs again,
 * alone, unless the device is lost. Belongs to the lane's thread.
 */
final class Batch implements ResultHandler {
  private static final System.Logger LOG = System.getLogger(Batch.class.getName());
  private static final long ALIGNMENT = 64;

  private final RequestQueue queue;
  private final List<QueuedRequest> members;
  private final long rows;
  private final long submittedNanos;
  private final Arena arena = Arena.ofConfined();
  private final Map<String, Output> outputs = new LinkedHashMap<>();
  private int answered;
  private @Nullable QueuedRequest joined; // Of all, once there is one.

  /** An output of a run, all rows of it. */
  private record Output(TensorType type, Shape shape, MemorySegment data) {}

  /**
   * The keeper for a batch, which takes nothing over: it tells what would be taken over of a
   * request that runs alone.
   */
  private record CutApart(Keeper alone) implements Keeper {
    @Override
    public Set<ModelVersion> readers(String device, String output) {
      return alone.readers(device, output);
    }

    @Override
    public boolean isCutApart() {
      return true;
    }

    @Override
    public void keep(String output, TensorType type, Shape shape, KeptTensor tensor) {
      throw new IllegalStateException("an output of several requests is nobody's");
    }
  }

  private Batch(RequestQueue queue, List<QueuedRequest> members) {
    this.queue = queue;
    this.members = List.copyOf(members);
    this.rows = members.getFirst().key().rows();
    this.submittedNanos =
        members.stream().mapToLong(QueuedRequest::submittedNanos).min().orElseThrow();
  }

  /**
   * Makes one request of several.
   *
   * @param members of one key, claimed for running
   */
  static QueuedRequest of(RequestQueue queue, List<QueuedRequest> members) {
    Batch batch = new Batch(queue, members);
    InferenceRequest request;
    try {
      request = batch.request();
    } catch (RuntimeException | Error e) {
      batch.arena.close();
      throw e;
    }
    QueuedRequest joined = new QueuedRequest(queue, request, batch, batch.submittedNanos);
    batch.joined = joined;
    joined.joins(members.getFirst().polled());
    boolean _ = joined.start();
    Runnable memberIsGone = () -> batch.endIfUnwanted(joined);
    members.forEach(member -> member.whenUnwanted(memberIsGone));
    memberIsGone.run(); // For those that have gone before.
    return joined;
  }

  /** Nobody wants the run once all members have gone; for any thread. */
  private void endIfUnwanted(QueuedRequest joined) {
    if (members.stream().allMatch(QueuedRequest::isUnwanted)) {
      joined.cancel();
    }
  }

  private InferenceRequest request() {
    InferenceRequest first = members.getFirst().request();
    List<InputTensor> inputs = new ArrayList<>(first.inputs().size());
    for (int input = 0; input < first.inputs().size(); input++) {
      inputs.add(joined(input));
    }
    return new InferenceRequest(
        first.model(),
        inputs,
        first.outputs(),
        new Deadline(latestDeadline(), false),
        first.priority(),
        first.sequence(), // Which says that all of them are steps.
        first.job(),
        RunPlace.ANY.holding(this::stateBytes).keeping(first.place().keeper().map(CutApart::new)));
  }

  private long stateBytes() {
    return members.stream()
        .mapToLong(member -> member.request().place().stateBytes().getAsLong())
        .sum();
  }

  private InputTensor joined(int input) {
    InputTensor first = members.getFirst().request().inputs().get(input);
    long bytes = first.data().byteSize();
    MemorySegment all = arena.allocate(Math.max(1, bytes * members.size()), ALIGNMENT);
    for (int member = 0; member < members.size(); member++) {
      MemorySegment data = members.get(member).request().inputs().get(input).data();
      MemorySegment.copy(data, 0, all, member * bytes, bytes);
    }
    Shape shape = RunKey.withRows(first.shape(), members.size() * rows);
    return new InputTensor(
        first.name(), first.type(), shape, all.asSlice(0, bytes * members.size()));
  }

  /** Somebody waits until then; none where one of them waits for as long as it takes. */
  private OptionalLong latestDeadline() {
    long latest = Long.MIN_VALUE;
    for (QueuedRequest member : members) {
      OptionalLong deadline = member.request().deadlineNanos();
      if (deadline.isEmpty()) {
        return deadline;
      }
      latest = Math.max(latest, deadline.getAsLong());
    }
    return OptionalLong.of(latest);
  }

  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    if (shape.rank() == 0 || shape.dimension(0) != members.size() * rows) {
      throw new StatusException(
          Status.INTERNAL,
          "output \"%s\" of a batch of %d rows is %s"
              .formatted(name, members.size() * rows, shape));
    }
    MemorySegment data = arena.allocate(Math.max(1, byteSize), ALIGNMENT).asSlice(0, byteSize);
    outputs.put(name, new Output(type, shape, data));
    return data;
  }

  @Override
  public void computed() {
    members.forEach(member -> member.handler().computed());
  }

  @Override
  public void computesAgain() {
    members.forEach(member -> member.handler().computesAgain());
  }

  @Override
  public void completed(InferenceTimings timings) {
    try {
      for (int member = 0; member < members.size(); member++) {
        answer(member, timings);
      }
    } finally {
      arena.close();
    }
  }

  private void answer(int place, InferenceTimings timings) {
    QueuedRequest member = members.get(place);
    ResultHandler handler = member.handler();
    long waited = timings.queueNanos() - (member.submittedNanos() - submittedNanos);
    try {
      try {
        placeRows(place, handler);
      } catch (StatusException e) {
        handler.failed(e);
        return;
      } catch (RuntimeException | Error e) { // There may be no memory for its outputs.
        handler.failed(
            new StatusException(
                Status.INTERNAL,
                "the outputs of " + member.request().model() + " cannot be placed: " + e,
                e));
        return;
      }
      handler.completed(timings.of(waited, members.size(), answered++));
    } catch (RuntimeException | Error e) { // The handler is the caller's, others wait behind it.
      LOG.log(Level.ERROR, "answering a request for " + member.request().model() + " failed", e);
    }
  }

  private void placeRows(int place, ResultHandler handler) {
    outputs.forEach(
        (name, output) -> {
          long bytes = output.data.byteSize() / members.size();
          MemorySegment rowsOfIt = output.data.asSlice(place * bytes, bytes);
          Shape shape = RunKey.withRows(output.shape, rows);
          handler.place(name, output.type, shape, bytes).copyFrom(rowsOfIt);
        });
  }

  /**
   * One of them may be the reason, or all of them together: alone, each has the answer it earns.
   * But those that nobody wants any more do not run again; none does where nobody wants any. What
   * was withdrawn was so for all of them, and each is told why it is not wanted itself. Where they
   * made way that is no reason to tell anybody: they run again in any case.
   */
  @Override
  public void failed(StatusException error) {
    arena.close();
    if (error.status() == Status.INSUFFICIENT_MEMORY) {
      members.getFirst().line().outgrown(members.size());
    }
    boolean isWanted = members.stream().anyMatch(member -> !member.isUnwanted());
    computesAgain();
    if (isWanted && joined != null && joined.makesWay()) {
      queue.returned().repeat(members);
    } else if (!isWanted || !queue.returned().again(members)) {
      boolean isWithdrawn = error.status() == Status.CANCELLED;
      members.forEach(member -> fail(member, isWithdrawn ? member.ended(error) : error));
    }
  }

  private static void fail(QueuedRequest member, StatusException error) {
    try {
      member.handler().failed(error);
    } catch (RuntimeException | Error e) { // The handler is the caller's, others wait behind it.
      LOG.log(Level.ERROR, "telling a request of " + member.request().model() + " failed", e);
    }
  }
}
