package io.pipelane.lanes.process;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.lanes.process.WorkersOverview.BuiltModel;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.PlacedTensor;
import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.lanes.process.channel.SessionDescription;
import io.pipelane.modelstore.ModelVersion;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The sessions that one worker has built, each once, on the thread that first needs it. Safe for
 * any platform thread that has entered the worker.
 */
final class WorkerBuilds {
  private final WorkerProcess worker;
  private final Duration patience;
  private final List<ChannelEnd> channels;
  private final BlockingQueue<ChannelEnd> foreground;
  private final BlockingQueue<ChannelEnd> background = new ArrayBlockingQueue<>(1);
  private final Map<Long, CompletableFuture<Message.Built>> built = new ConcurrentHashMap<>();

  /** What each session was built of; some are gone from {@link #built} already. */
  private final Map<Long, ModelVersion> models = new ConcurrentHashMap<>();

  /** Sessions that have been told to make no captures. */
  private final Set<Long> uncaptured = ConcurrentHashMap.newKeySet();

  /** By session, and by the inputs' shapes. */
  private final Map<Long, Map<List<PlacedTensor>, Message.WarmUp>> warmedUp =
      new ConcurrentHashMap<>();

  /**
   * Nothing is built yet.
   *
   * @param channels to build through, the last in the background
   * @param patience how long building one may take
   */
  WorkerBuilds(WorkerProcess worker, List<ChannelEnd> channels, Duration patience) {
    this.worker = worker;
    this.patience = patience;
    this.channels = List.copyOf(channels);
    this.foreground = new ArrayBlockingQueue<>(channels.size());
    foreground.addAll(channels.subList(0, channels.size() - 1));
    background.add(channels.getLast());
  }

  /** What the constants of the sessions built take. */
  long constantBytes() {
    return built.values().stream()
        .filter(each -> each.isDone() && !each.isCompletedExceptionally())
        .mapToLong(each -> each.join().constantBytes())
        .sum();
  }

  /** What the sessions that are built are of, by name. */
  List<BuiltModel> models() {
    Map<ModelVersion, Integer> counts = new TreeMap<>();
    models.forEach(
        (number, version) -> {
          if (isBuilt(number)) {
            counts.merge(version, 1, Integer::sum);
          }
        });
    return counts.entrySet().stream()
        .map(each -> new BuiltModel(each.getKey(), each.getValue()))
        .toList();
  }

  /** Sessions built or being built. */
  int count() {
    return built.size();
  }

  /** Whether a session is built. */
  boolean has(KnownSession session) {
    return isBuilt(session.number());
  }

  private boolean isBuilt(long number) {
    CompletableFuture<Message.Built> known = built.get(number);
    return known != null && known.isDone() && !known.isCompletedExceptionally();
  }

  /** Shapes that sessions have been warmed up for. */
  int warmedUp() {
    return warmedUp.values().stream().mapToInt(Map::size).sum();
  }

  /**
   * Sees to it that a session is built; waits for another thread that builds it.
   *
   * @return what it takes
   * @throws OutOfDeviceMemoryException when its constants do not fit
   * @throws StatusException when ONNX Runtime refuses it
   * @throws WorkerLostException when the worker is gone
   */
  Message.Built require(KnownSession session) {
    return require(session, foreground);
  }

  /** The same, letting others go first. */
  Message.Built requireInBackground(KnownSession session) {
    return require(session, background);
  }

  /**
   * Warms a session up that is built, once for each shape, and for a few shapes at most; others go
   * first.
   *
   * @return whether there was anything to do
   * @throws StatusException when that cannot be, now or ever
   * @throws WorkerLostException when the worker is gone
   */
  boolean warmUp(Message.WarmUp run) {
    Map<List<PlacedTensor>, Message.WarmUp> done =
        warmedUp.computeIfAbsent(run.session(), session -> new ConcurrentHashMap<>());
    Message.WarmUp before = done.get(run.inputs());
    boolean isWanted =
        before == null ? done.size() < RepeatedShapes.MOST : run.captured() && !before.captured();
    if (!isWanted) {
      return false;
    }
    switch (ask(run, background)) {
      case Message.WarmedUp _ -> done.put(run.inputs(), run);
      case Message.Failed failed -> throw new StatusException(failed.status(), failed.reason());
      case Message.ToServer other -> throw violated(other);
    }
    return true;
  }

  private Message.Built require(KnownSession session, BlockingQueue<ChannelEnd> idle) {
    CompletableFuture<Message.Built> mine = new CompletableFuture<>();
    CompletableFuture<Message.Built> other = built.putIfAbsent(session.number(), mine);
    if (other != null) {
      return join(other);
    }
    try {
      Message.Built result = build(session, idle);
      models.put(session.number(), session.model().version());
      mine.complete(result);
      return result;
    } catch (RuntimeException | Error e) {
      built.remove(session.number(), mine);
      mine.completeExceptionally(e);
      throw e;
    }
  }

  private static Message.Built join(CompletableFuture<Message.Built> other) {
    try {
      return other.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw e;
    }
  }

  private Message.Built build(KnownSession session, BlockingQueue<ChannelEnd> idle) {
    byte[] bytes = SessionDescription.write(session.model());
    try (SharedMemory described = SharedMemory.allocate("pipelane-session", bytes.length)) {
      MemorySegment.copy(MemorySegment.ofArray(bytes), 0, described.segment(), 0, bytes.length);
      Message.Build build =
          new Message.Build(
              session.number(),
              session.slots(),
              described.descriptor(),
              described.segment().byteSize(),
              session.limitBytes(),
              session.lane(),
              session.laneBytes());
      return switch (ask(build, idle)) {
        case Message.Built result when result.constantBytes() <= session.limitBytes() -> result;
        case Message.Failed failed when failed.refusedBytes() > 0 ->
            throw new OutOfDeviceMemoryException(failed.refusedBytes());
        case Message.Failed failed -> throw new StatusException(failed.status(), failed.reason());
        case Message.ToServer other -> throw violated(other);
      };
    }
  }

  /** Closes a session, if it is built; nothing runs in it. A worker that is gone has none. */
  void close(long number) {
    CompletableFuture<Message.Built> known = built.remove(number);
    if (known == null) {
      return;
    }
    try {
      Message.Built _ = join(known);
    } catch (RuntimeException e) {
      return; // It was not built.
    }
    models.remove(number);
    giveUp(new Message.Close(number)); // Which waits for what is warmed up.
    warmedUp.remove(number);
    uncaptured.remove(number);
  }

  /**
   * Has a session that is built give up what it can do without.
   *
   * @return device memory that it holds still, beside its constants; empty where it is not built,
   *     or the worker is gone with it
   */
  OptionalLong shrink(long number) {
    if (!built.containsKey(number)) {
      return OptionalLong.empty();
    }
    try {
      return switch (ask(new Message.Shrink(number), foreground)) {
        case Message.Shrunk(long heldBytes) -> OptionalLong.of(heldBytes);
        case Message.ToServer other -> throw violated(other);
      };
    } catch (WorkerLostException e) {
      return OptionalLong.empty();
    }
  }

  /**
   * Has a session that is built make no captures, and give up those that it has.
   *
   * @return whether it had not been told before
   */
  boolean refuseCaptures(long number) {
    boolean isNews = uncaptured.add(number);
    if (isNews) {
      OptionalLong _ = shrink(number);
    }
    return isNews;
  }

  /** Has a session capture again that {@link #refuseCaptures} has kept from it; at once if none. */
  void allowCaptures(long number) {
    if (uncaptured.remove(number)) {
      giveUp(new Message.CaptureAgain(number));
    }
  }

  /** Has host memory given back that this process has closed; no run reads it any more. */
  void tidy() {
    giveUp(new Message.Tidy());
  }

  /** Has the worker see whether its device does anything for it; it ends if not. */
  void check() {
    giveUp(new Message.Check());
  }

  /** Has something given up, which a worker that is lost has done already. */
  private void giveUp(Message.ToWorker givenUp) {
    try {
      Message.ToServer answer = ask(givenUp, foreground);
      if (!(answer instanceof Message.Closed)) {
        throw violated(answer);
      }
    } catch (WorkerLostException e) {
      // With all that it had.
    }
  }

  private Message.ToServer ask(Message.ToWorker question, BlockingQueue<ChannelEnd> idle) {
    ChannelEnd end = take(idle);
    try {
      Conversation conversation = new Conversation(worker, end, patience, () -> false);
      conversation.say(question);
      return conversation.listen();
    } catch (WorkerStuckException e) { // It was lent nothing for this, and will compute no more.
      throw new WorkerLostException(String.valueOf(e.getMessage()), e.blame());
    } finally {
      idle.add(end);
    }
  }

  private static ChannelEnd take(BlockingQueue<ChannelEnd> idle) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return idle.take();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private WorkerLostException violated(Message.ToServer answer) {
    return switch (worker.violated(new ProtocolException("it answered " + answer))) {
      case WorkerLostException lost -> lost;
      case RuntimeException e ->
          new WorkerLostException(String.valueOf(e.getMessage()), Blame.NAMED);
    };
  }

  /** Wakes who waits for an answer; the worker is gone. */
  void wake() {
    channels.forEach(ChannelEnd::wake);
  }
}
