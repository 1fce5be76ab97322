package io.pipelane.switcher.placement;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.KeptByAnotherVersion;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import io.pipelane.switcher.sequence.StepBounds;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Clients' sequences on several devices: each goes on on another one when its device is lost. Safe
 * for any thread.
 */
final class MovingSequences implements AutoCloseable {
  /* The monitor guards the table; a sequence's is taken after it. Nothing is submitted under either. */
  private static final long IDLE_NANOS = Duration.ofMinutes(1).toNanos();

  private final Router router;
  private final HostRoom room;
  private final StepBounds waiting;
  private final LongSupplier nanoClock;
  private final ExecutorService checkpoints =
      Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("checkpoints").factory());

  /** In the order of their use, the one that is idle for longest first. */
  private final LinkedHashMap<Key, MovingSequence> sequences = new LinkedHashMap<>();

  private record Key(ModelVersion model, String owner, String id) {
    static Key of(InferenceRequest request) {
      SequenceStep step = request.sequence().orElseThrow();
      return new Key(request.model(), step.owner(), step.id());
    }

    boolean isOfAnotherVersion(Key other) {
      return model.version() != other.model.version()
          && model.model().equals(other.model.model())
          && owner.equals(other.owner)
          && id.equals(other.id);
    }
  }

  /**
   * None yet.
   *
   * @param hostBytes what they may take of host memory; those that find none stay where they are
   * @param waiting what may wait behind other steps, here or on the device that this is of
   */
  MovingSequences(Router router, long hostBytes, StepBounds waiting, LongSupplier nanoClock) {
    this.router = router;
    this.room = new HostRoom(hostBytes);
    this.waiting = waiting;
    this.nanoClock = nanoClock;
  }

  /** Whether a request is a step of a sequence that can move: a job goes on by itself. */
  static boolean concerns(InferenceRequest request) {
    return request.sequence().isPresent() && request.job().isEmpty();
  }

  /**
   * Takes a step.
   *
   * @param devices what takes it to a device
   * @throws StatusException as the devices do, or {@link io.pipelane.config.Status#UNAVAILABLE}
   *     when too many wait
   */
  Ticket submit(
      InferenceRequest request,
      ResultHandler handler,
      Route route,
      Function<Member, Hold> devices) {
    SequenceStep step = request.sequence().orElseThrow();
    Key key = Key.of(request);
    @Nullable Ticket ticket = null;
    while (ticket == null) { // One that was found may have ended since.
      ticket = find(key, step, route).submit(request, step, handler, devices);
    }
    return ticket;
  }

  private synchronized MovingSequence find(Key key, SequenceStep step, Route route) {
    long now = nanoClock.getAsLong();
    expire(now);
    @Nullable MovingSequence found = sequences.get(key);
    if (found == null) {
      found = new MovingSequence(this, route);
      if (!step.start()) { // Its device says that it has not begun.
        refuseOfAnotherVersion(key);
        return found;
      }
    }
    use(key, found, now);
    return found;
  }

  /** Called under the monitor; one device does not know what another has. */
  private void refuseOfAnotherVersion(Key key) {
    for (Key other : sequences.keySet()) {
      if (other.isOfAnotherVersion(key)) {
        throw KeptByAnotherVersion.refusal(key.model, other.model);
      }
    }
  }

  /** Called under the monitor. */
  private void use(Key key, MovingSequence sequence, long now) {
    sequence.usedNanos = now;
    sequences.putLast(key, sequence);
  }

  /** A step of a sequence ends, and counts as under way still. */
  synchronized void used(MovingSequence sequence, InferenceRequest step) {
    Key key = Key.of(step);
    if (sequence.equals(sequences.get(key))) {
      use(key, sequence, nanoClock.getAsLong());
    }
  }

  /** Called under the monitor. */
  private void expire(long now) {
    for (Iterator<MovingSequence> all = sequences.values().iterator(); all.hasNext(); ) {
      MovingSequence eldest = all.next();
      if (now - eldest.usedNanos < IDLE_NANOS) {
        return;
      }
      if (eldest.endIfIdle()) {
        all.remove();
      }
    }
  }

  /** Forgets a sequence that has ended, unless it begins anew. */
  synchronized void ended(MovingSequence sequence, InferenceRequest last) {
    Key key = Key.of(last);
    if (sequence.equals(sequences.get(key)) && sequence.endIfIdle()) {
      sequences.remove(key);
    }
  }

  /** Ends an owner's sequence, if there is one; its device has the state still. */
  void end(ModelVersion model, String owner, String id) {
    @Nullable MovingSequence ending;
    synchronized (this) {
      ending = sequences.remove(new Key(model, owner, id));
    }
    if (ending != null) {
      ending.end();
    }
  }

  /** Whether a model has sequences that steps may come for. */
  synchronized boolean hasAny(ModelVersion model) {
    expire(nanoClock.getAsLong());
    return sequences.keySet().stream().anyMatch(key -> key.model.equals(model));
  }

  /** Forgets the sequences of a model that has left. */
  void forget(ModelVersion version) {
    List<MovingSequence> gone;
    synchronized (this) {
      List<Map.Entry<Key, MovingSequence>> all =
          sequences.entrySet().stream()
              .filter(entry -> entry.getKey().model.equals(version))
              .toList();
      gone = all.stream().map(Map.Entry::getValue).toList();
      sequences.values().removeAll(gone);
    }
    gone.forEach(MovingSequence::end);
  }

  Router router() {
    return router;
  }

  HostRoom room() {
    return room;
  }

  StepBounds waiting() {
    return waiting;
  }

  /** Does what takes its time, one thing after another, and then what waits for it. */
  void behind(Runnable work, Runnable then) {
    try {
      checkpoints.execute(
          () -> {
            try {
              work.run();
            } finally {
              then.run();
            }
          });
    } catch (RejectedExecutionException e) { // Nothing goes on after the end.
      then.run();
    }
  }

  @Override
  public void close() {
    checkpoints.close();
    List<MovingSequence> left;
    synchronized (this) {
      left = List.copyOf(sequences.values());
      sequences.clear();
    }
    left.forEach(MovingSequence::end);
  }
}
