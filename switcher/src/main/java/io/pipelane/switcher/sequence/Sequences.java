package io.pipelane.switcher.sequence;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.Releases;
import io.pipelane.lanes.execution.Reservations;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.ModelOptions.StateInput;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.KeptByAnotherVersion;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceState;
import io.pipelane.switcher.SequenceStep;
import java.io.IOException;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BiFunction;
import java.util.function.LongPredicate;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The sequences of a device, whose models keep state between their requests. Steps of one sequence
 * run one after another, in the order in which they came. Safe for any thread.
 */
public final class Sequences implements AutoCloseable {
  /*
   * The monitor guards the tables; a sequence has a monitor of its own, taken after this one. Nothing
   * is submitted and no handler is called under either.
   */
  static final int MOST = 1024;

  private static final long IDLE_NANOS = Duration.ofMinutes(1).toNanos();

  private final ExecutorService mover =
      Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("states").factory());

  private final HostStates host;
  private final MakingRoom makingRoom;
  private final StateMemory online;
  private final StateMemory offline;
  private final StepBounds bounds;
  private final BiFunction<InferenceRequest, ResultHandler, Ticket> queue;
  private final LongSupplier nanoClock;
  private final Map<ModelVersion, StatePairs> models = new ConcurrentHashMap<>();

  /** In the order of their use, the one that is idle for longest first. */
  private final LinkedHashMap<Key, Sequence> sequences = new LinkedHashMap<>();

  private record Key(ModelVersion model, String owner, String id) {
    boolean isOfAnotherVersion(Key other) {
      return model.version() != other.model.version()
          && model.model().equals(other.model.model())
          && owner.equals(other.owner)
          && id.equals(other.id);
    }
  }

  /** The way to make room in the working memory, known to whoever knows what else lies there. */
  public interface MakingRoom {
    /**
     * Whether so many bytes of a class could be had, with all that nobody uses now given back.
     *
     * @param leavingBytes what of it states would leave
     */
    default boolean canMakeRoom(long bytes, long leavingBytes, Priority inFavourOf) {
      return true;
    }

    /**
     * Has other memory given back that nobody uses now, in favour of so many bytes of a class, if
     * that would be enough, and what steps under way do not need once they have ended; answers at
     * once, and somebody else does it.
     */
    void makeRoom(long bytes, Priority inFavourOf);
  }

  /**
   * Keeps nothing yet.
   *
   * @param device where states lie
   * @param working what they are charged to
   * @param ofOffline the same for those of offline sequences
   * @param hostBytes host memory for states that are written out
   * @param giveUnasked has other memory given back that nobody has asked for yet, in favour of so
   *     many bytes, which goes before states do; false when that would not be enough. It may take
   *     its time
   * @param makeRoom makes room for who asks again
   * @param bounds what may wait behind other steps
   * @param queue takes steps
   */
  public Sequences(
      DeviceStates device,
      Reservations working,
      Reservations ofOffline,
      long hostBytes,
      LongPredicate giveUnasked,
      MakingRoom makeRoom,
      StepBounds bounds,
      BiFunction<InferenceRequest, ResultHandler, Ticket> queue,
      LongSupplier nanoClock) {
    this.host = new HostStates(hostBytes);
    this.makingRoom = makeRoom;
    this.online = memory(device, working, giveUnasked, Priority.ONLINE);
    // What keeps offline work from more may be its share, which others' memory does not make
    // larger.
    this.offline = memory(device, ofOffline, _ -> false, Priority.OFFLINE);
    this.bounds = bounds;
    this.queue = queue;
    this.nanoClock = nanoClock;
  }

  private StateMemory memory(
      DeviceStates device, Reservations working, LongPredicate giveUnasked, Priority of) {
    return new StateMemory(
        of,
        device,
        working,
        host,
        giveUnasked,
        bytes -> writeOutFor(bytes, of, host.freeBytes(), host::tryTake),
        bytes -> writeOutFor(bytes, of, Long.MAX_VALUE, this::takeInExchange),
        bytes -> makingRoom.makeRoom(bytes, of));
  }

  /**
   * Has a model keep state.
   *
   * @param state its inputs by the names of the outputs that they come from; may be empty
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when that does not fit the model
   */
  public void agree(ImportedModel model, Map<String, StateInput> state) {
    if (!state.isEmpty()) {
      models.put(model.version(), StatePairs.of(model, state));
    }
  }

  /** Forgets a model, and the state of its sequences once their steps have ended. */
  public void forget(ModelVersion version) {
    models.remove(version);
    Releases going = new Releases();
    synchronized (this) {
      for (Iterator<Map.Entry<Key, Sequence>> all = sequences.entrySet().iterator();
          all.hasNext(); ) {
        Map.Entry<Key, Sequence> entry = all.next();
        if (entry.getKey().model.equals(version)) {
          going.add(entry.getValue(), Sequence::end);
          all.remove();
        }
      }
    }
    going.close();
  }

  /** Whether a model keeps state. */
  public boolean keepsState(ModelVersion version) {
    return models.containsKey(version);
  }

  /**
   * Takes a step.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the request is of no sequence, or
   *     of one that has not begun, with {@link KeptByAnotherVersion} as the cause where that has;
   *     {@link Status#UNAVAILABLE} when there are too many
   */
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    SequenceStep step =
        request
            .sequence()
            .orElseThrow(
                () ->
                    invalid(
                        "model %s keeps state: send sequence_id, and sequence_start first"
                            .formatted(request.model())));
    pairs(request.model()).check(request, step);
    @Nullable Ticket ticket = null;
    while (ticket == null) { // One that was found may have ended since.
      ticket = find(request, step).submit(request, step, handler);
    }
    return ticket;
  }

  private StatePairs pairs(ModelVersion model) {
    @Nullable StatePairs pairs = models.get(model);
    if (pairs == null) {
      throw new StatusException(Status.NOT_FOUND, "model " + model + " is not in service");
    }
    return pairs;
  }

  /** The one that a step goes to, which may have to be begun. */
  synchronized Sequence find(InferenceRequest request, SequenceStep step) {
    ModelVersion model = request.model();
    StatePairs pairs = pairs(model); // One that is forgotten begins no more sequences.
    long now = nanoClock.getAsLong();
    boolean _ = expire(now);
    Key key = new Key(model, step.owner(), step.id());
    @Nullable Sequence found = sequences.get(key);
    if (found == null || found.hasEnded()) { // Who has ended it is about to take it out.
      if (!step.start()) {
        throw notBegun(key);
      }
      if (sequences.size() >= MOST && countOfStaying() >= MOST) {
        throw StatusException.unavailable(
            "there are %d sequences, which is the limit; end some with sequence_end"
                .formatted(MOST));
      }
      StateMemory memory = request.priority() == Priority.OFFLINE ? offline : online;
      found =
          new Sequence(
              memory, pairs, queue, mover, bounds, () -> used(key), idle -> idle(key, idle));
    }
    use(key, found, now);
    return found;
  }

  /** Called under the monitor. */
  private StatusException notBegun(Key key) {
    for (Key other : sequences.keySet()) {
      if (other.isOfAnotherVersion(key) && models.containsKey(other.model)) {
        return KeptByAnotherVersion.refusal(key.model, other.model);
      }
    }
    return invalid(
        ("there is no sequence \"%s\" of model %s: begin it with sequence_start; it goes after %d s"
                + " without a step, and with its version's content")
            .formatted(shorten(key.id), key.model, Duration.ofNanos(IDLE_NANOS).toSeconds()));
  }

  /** Called under the monitor. */
  private void use(Key key, Sequence sequence, long now) {
    sequence.usedNanos = now;
    sequences.putLast(key, sequence);
  }

  private synchronized void used(Key key) {
    @Nullable Sequence sequence = sequences.get(key);
    if (sequence != null) {
      use(key, sequence, nanoClock.getAsLong());
    }
  }

  /** The state of an owner's sequence; empty when there is no such sequence. */
  public synchronized Optional<SequenceState> find(ModelVersion model, String owner, String id) {
    Key key = new Key(model, owner, id);
    return Optional.ofNullable(sequences.get(key)).map(found -> new Found(key, found));
  }

  /** Ends an owner's sequence, if there is one, once its step under way has ended; at once. */
  public void end(ModelVersion model, String owner, String id) {
    @Nullable Sequence ending;
    synchronized (this) {
      ending = sequences.remove(new Key(model, owner, id));
    }
    if (ending != null && !ending.endIfIdle()) {
      ending.end();
    }
  }

  /** Whether a model has sequences that steps may come for. */
  public synchronized boolean hasAny(ModelVersion model) {
    boolean _ = expire(nanoClock.getAsLong());
    return sequences.keySet().stream().anyMatch(key -> key.model.equals(model));
  }

  private void end(Key key, Sequence sequence) {
    synchronized (this) {
      sequences.remove(key, sequence);
    }
    sequence.end();
  }

  /** A sequence of the table. */
  private final class Found implements SequenceState {
    private final Key key;
    private final Sequence sequence;

    Found(Key key, Sequence sequence) {
      this.key = key;
      this.sequence = sequence;
    }

    @Override
    public boolean read(Reader reader) throws IOException {
      return sequence.read(reader);
    }

    @Override
    public void end() {
      Sequences.this.end(key, sequence);
    }
  }

  /** Ends sequences that have had no step for long; returns whether there was one. */
  private synchronized boolean expire(long now) {
    boolean any = false;
    for (Iterator<Sequence> all = sequences.values().iterator(); all.hasNext(); ) {
      Sequence eldest = all.next();
      if (now - eldest.usedNanos < IDLE_NANOS) {
        return any;
      }
      if (eldest.endIfIdle()) {
        all.remove();
        any = true;
      }
    }
    return any;
  }

  /** A sequence that has no state any more goes, unless it begins anew. */
  private synchronized void idle(Key key, Sequence sequence) {
    if (sequence.endIfLeaving()) {
      sequences.remove(key, sequence);
    }
  }

  /**
   * Makes room in the working memory: ends the sequences that have had no step for too long, or
   * else writes a state out, of the sequence that has had none for longest. Its next step brings it
   * back. Blocks; called under no lock that a step may want.
   *
   * @param inFavourOf who needs the room: for offline work no state of online sequences is written
   *     out
   * @return false when there is none, or no room on the host
   */
  public boolean writeOut(Priority inFavourOf) {
    return expire(nanoClock.getAsLong()) || writeOut(inFavourOf, host::tryTake);
  }

  /**
   * Does the same for a state that begins, grows or comes back, as long as all that could leave
   * would be enough.
   *
   * @param bytes what it lacks
   * @param hostBytes what those that leave find on the host
   * @param onHost takes of it
   */
  private boolean writeOutFor(
      long bytes, Priority inFavourOf, long hostBytes, LongPredicate onHost) {
    return expire(nanoClock.getAsLong())
        || (makingRoom.canMakeRoom(bytes, leavingBytes(inFavourOf, hostBytes), inFavourOf)
            && writeOut(inFavourOf, onHost));
  }

  private boolean writeOut(Priority inFavourOf, LongPredicate onHost) {
    return idleFirst(inFavourOf).anyMatch(each -> each.writeOut(onHost));
  }

  /** What those that nobody uses now would leave of working memory, as many as the host takes. */
  private long leavingBytes(Priority inFavourOf, long hostBytes) {
    long leaving = 0;
    long room = hostBytes;
    for (Sequence each : (Iterable<Sequence>) idleFirst(inFavourOf)::iterator) {
      long bytes = each.idleBytes();
      if (bytes <= room) {
        leaving += 2 * bytes; // Of both copies, of which one goes to the host.
        room -= bytes;
      }
    }
    return leaving;
  }

  private boolean takeInExchange(long bytes) {
    host.takeInExchange(bytes);
    return true;
  }

  private synchronized Stream<Sequence> idleFirst(Priority inFavourOf) {
    return List.copyOf(sequences.values()).stream()
        .filter(each -> inFavourOf != Priority.OFFLINE || each.isChargedTo(Priority.OFFLINE));
  }

  /** What is kept at present. */
  public StatesOverview overview() {
    return new StatesOverview(count(), host.takenBytes(), host.times());
  }

  private synchronized int count() {
    return sequences.size();
  }

  /** Without those that are about to be taken out; called under the monitor. */
  private long countOfStaying() {
    return sequences.values().stream().filter(each -> !each.isLeaving()).count();
  }

  /** Whether a model's steps run one at a time because runs touch its state on the device. */
  public boolean runsAlone(ModelVersion version) {
    return online.isOnDevice() && keepsState(version);
  }

  /** Waits until what goes has gone; every model has been forgotten. */
  @Override
  public void close() {
    mover.close();
  }

  private static StatusException invalid(String message) {
    return new StatusException(Status.INVALID_ARGUMENT, message);
  }

  private static String shorten(String text) {
    return text.length() <= 64 ? text : text.substring(0, 64) + "...";
  }
}
