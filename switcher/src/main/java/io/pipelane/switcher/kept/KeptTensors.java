package io.pipelane.switcher.kept;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.DeviceStates.State;
import io.pipelane.lanes.execution.Reservations;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.kept.KeptOverview.Obstacle;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import java.util.function.Predicate;

/**
 * A device's memory for tensors that one run makes and a later one reads. Safe for any platform
 * thread.
 */
public final class KeptTensors implements AutoCloseable {
  /*
   * Memory is the states': it lies in no lane, outlives worker processes, and runs read and write
   * it where it lies. It is charged to working memory, up to a limit. Blocks that come back are
   * used again, as the system, or the driver, has to fill pages in for a new one. They go when
   * somebody else needs the room (`giveIdleBack`), or a block of another size. Nobody ever waits
   * here: a tensor that has no room goes through host memory, as all do that are not kept. One that
   * may not even take memory has a block be taken by another thread, which the next finds.
   *
   * The monitor guards the blocks and the counts. The device and the accounts are asked without it,
   * for a block that nobody else knows.
   */

  private static final System.Logger LOG = System.getLogger(KeptTensors.class.getName());

  /** A smaller tensor is copied to the host and back for what it costs to keep account of it. */
  public static final long LEAST_BYTES = 64 << 10;

  /** A block that is used again is at most so many times as large as the tensor. */
  private static final long MOST_WASTE = 2;

  private final String device;
  private final DeviceStates memory;
  private final Reservations working;
  private final long mostBytes;
  private final Predicate<ModelVersion> hasWaiting;
  private volatile Predicate<ModelVersion> runsHere = reader -> true;
  private volatile Runnable whenIdle = () -> {};

  /** One block that is taken, one that waits: whoever asks meanwhile asks again. */
  private final ThreadPoolExecutor besideRuns =
      new ThreadPoolExecutor(
          0,
          1,
          1,
          TimeUnit.SECONDS,
          new ArrayBlockingQueue<>(1),
          Thread.ofPlatform().daemon().name("kept-tensors").factory(),
          new ThreadPoolExecutor.DiscardPolicy());

  private final List<Block> idle = new ArrayList<>();
  private final Map<Obstacle, Long> notKept = new EnumMap<>(Obstacle.class);
  private long takenBytes;
  private long lentBytes;
  private long tensors;

  /** Memory that is taken, lent or not. */
  record Block(State state) {
    long bytes() {
      return state.memory().byteSize();
    }
  }

  /**
   * Nothing is taken yet.
   *
   * @param device its name
   * @param memory where tensors lie
   * @param working what they are charged to
   * @param mostBytes of all of them; 0 has none kept
   * @param hasWaiting whether requests of a model wait that others of it may run together with
   */
  public KeptTensors(
      String device,
      DeviceStates memory,
      Reservations working,
      long mostBytes,
      Predicate<ModelVersion> hasWaiting) {
    this.device = device;
    this.memory = memory;
    this.working = working;
    this.mostBytes = mostBytes;
    this.hasWaiting = hasWaiting;
  }

  /** Says which models run on this device, where there are several. */
  public void readOnlyBy(Predicate<ModelVersion> here) {
    runsHere = here;
  }

  /**
   * Says who waits for memory that becomes idle.
   *
   * @param told by whoever gives a tensor back, under no lock of this object's
   */
  public void tellWhenIdle(Runnable told) {
    whenIdle = told;
  }

  String device() {
    return device;
  }

  /** Whether the host cannot touch what is kept. */
  boolean isOnDevice() {
    return memory.areOnDevice();
  }

  /**
   * Gives an output of a run memory to stay in, for its readers.
   *
   * @return empty when it does not stay; the keeper is told nothing then
   */
  public Optional<MemorySegment> place(
      Keeper keeper, String output, TensorType type, Shape shape, long byteSize) {
    return place(keeper, output, type, shape, byteSize, this::take);
  }

  /**
   * The same of a run whose thread must not wait: it has what is idle alone. Where nothing is of
   * its size, somebody else sees to it that the next of that size finds some.
   */
  public Optional<MemorySegment> placeAtOnce(
      Keeper keeper, String output, TensorType type, Shape shape, long byteSize) {
    return place(keeper, output, type, shape, byteSize, this::takeAtOnce);
  }

  private Optional<MemorySegment> place(
      Keeper keeper,
      String output,
      TensorType type,
      Shape shape,
      long byteSize,
      LongFunction<Optional<Block>> taking) {
    Set<ModelVersion> readers = keeper.readers(device, output);
    if (readers.isEmpty()
        || mostBytes == 0
        || byteSize < LEAST_BYTES
        || type == TensorType.BYTES) { // Encoded on the host.
      return Optional.empty();
    }
    if (keeper.isCutApart()) {
      notKept(Obstacle.BATCHED);
      return Optional.empty();
    }
    if (!readers.stream().allMatch(runsHere)) {
      notKept(Obstacle.ELSEWHERE);
      return Optional.empty();
    }
    if (isOnDevice() && readers.stream().anyMatch(hasWaiting)) {
      notKept(Obstacle.WAITING);
      return Optional.empty();
    }
    Optional<Block> block = taking.apply(byteSize);
    if (block.isEmpty()) {
      notKept(Obstacle.FULL);
      return Optional.empty();
    }
    KeptTensor tensor = new KeptTensor(this, block.get(), byteSize);
    keeps();
    keeper.keep(output, type, shape, tensor);
    return Optional.of(tensor.memory());
  }

  /** An output is written to the host whoever wants it: it is cut apart there. */
  public void notPlaced(Keeper keeper, String output, long byteSize) {
    if (mostBytes > 0 && byteSize >= LEAST_BYTES && !keeper.readers(device, output).isEmpty()) {
      notKept(Obstacle.BATCHED);
    }
  }

  private synchronized void keeps() {
    tensors++;
  }

  private synchronized void notKept(Obstacle obstacle) {
    notKept.merge(obstacle, 1L, Long::sum);
  }

  private Optional<Block> take(long bytes) {
    Optional<Block> known = takeIdle(bytes);
    return known.isPresent() ? known : takeNew(bytes);
  }

  private Optional<Block> takeAtOnce(long bytes) {
    Optional<Block> known = takeIdle(bytes);
    if (known.isEmpty() && hasRoomBesideLent(bytes)) {
      besideRuns.execute(() -> haveIdle(bytes));
    }
    return known;
  }

  private void haveIdle(long bytes) {
    if (idleFor(bytes).isEmpty()) {
      takeNew(bytes).ifPresent(this::giveBack);
    }
  }

  private synchronized Optional<Block> idleFor(long bytes) {
    return idle.stream()
        .filter(block -> block.bytes() >= bytes && block.bytes() <= MOST_WASTE * bytes)
        .min(Comparator.comparingLong(Block::bytes));
  }

  private synchronized Optional<Block> takeIdle(long bytes) {
    Optional<Block> best = idleFor(bytes);
    best.ifPresent(
        block -> {
          idle.remove(block);
          lentBytes += block.bytes();
        });
    return best;
  }

  private Optional<Block> takeNew(long bytes) {
    if (!makeRoom(bytes)) {
      return Optional.empty();
    }
    Optional<Block> taken = Optional.empty();
    try {
      taken = working.tryReservePersistent(bytes) ? takeReserved(bytes) : Optional.empty();
    } finally {
      synchronized (this) {
        lentBytes += taken.isPresent() ? bytes : 0;
        takenBytes -= taken.isPresent() ? 0 : bytes;
      }
    }
    return taken;
  }

  /** Whether so much could be taken, were nothing idle: what is lent gives way to nobody. */
  private synchronized boolean hasRoomBesideLent(long bytes) {
    return bytes <= mostBytes - (takenBytes - idleBytes());
  }

  /** Counts bytes as taken, within the limit; others that nobody uses give way, none in vain. */
  private boolean makeRoom(long bytes) {
    List<Block> going = new ArrayList<>();
    synchronized (this) {
      if (!hasRoomBesideLent(bytes)) {
        return false;
      }
      while (takenBytes + bytes > mostBytes) {
        Block eldest = idle.removeFirst();
        takenBytes -= eldest.bytes();
        going.add(eldest);
      }
      takenBytes += bytes;
    }
    release(going);
    return true;
  }

  private Optional<Block> takeReserved(long bytes) {
    try {
      return Optional.of(new Block(memory.take(bytes)));
    } catch (StatusException e) { // The driver has none, say; there is another way.
      working.releasePersistent(bytes);
      return Optional.empty();
    } catch (RuntimeException | Error e) {
      working.releasePersistent(bytes);
      throw e;
    }
  }

  void giveBack(Block block) {
    synchronized (this) {
      lentBytes -= block.bytes();
      idle.add(block);
    }
    whenIdle.run();
  }

  /** Who asks for room gets that of each, also where a device fails that is to take it back. */
  private void release(List<Block> going) {
    for (Block block : going) {
      long bytes = block.bytes();
      try {
        block.state.close();
      } catch (RuntimeException e) {
        LOG.log(Level.WARNING, device + " has not taken " + bytes + " bytes back", e);
      } finally {
        working.releasePersistent(bytes);
      }
    }
  }

  /**
   * Gives working memory up that no tensor lies in; a platform thread may be blocked by that.
   *
   * @return false when there was none
   */
  public boolean giveIdleBack() {
    List<Block> going;
    synchronized (this) {
      going = List.copyOf(idle);
      idle.clear();
      going.forEach(block -> takenBytes -= block.bytes());
    }
    release(going);
    return !going.isEmpty();
  }

  /** Working memory for others, for whom this gives up what no tensor lies in. */
  public Reservations yielding(Reservations others) {
    return new Reservations() {
      @Override
      public boolean tryReservePersistent(long bytes) {
        return others.tryReservePersistent(bytes)
            || (giveIdleBack() && others.tryReservePersistent(bytes));
      }

      @Override
      public long mostBeside(long ownBytes) {
        return others.mostBeside(ownBytes);
      }

      @Override
      public void releasePersistent(long bytes) {
        others.releasePersistent(bytes);
      }
    };
  }

  /** What is charged at present: what tensors lie in, and what they have left. */
  public synchronized long takenBytes() {
    return takenBytes;
  }

  /** What of that {@link #giveIdleBack} would give back now. */
  public synchronized long idleBytes() {
    return idle.stream().mapToLong(Block::bytes).sum();
  }

  /** What is kept, and was. */
  public synchronized KeptOverview overview() {
    return new KeptOverview(lentBytes, takenBytes, tensors, notKept);
  }

  /** Gives all back; no tensor is kept any more. */
  @Override
  public void close() {
    besideRuns.close();
    boolean _ = giveIdleBack();
  }
}
